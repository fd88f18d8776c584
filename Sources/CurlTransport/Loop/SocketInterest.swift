// SPDX-License-Identifier: Apache-2.0

/// What libcurl wants of each descriptor, and what the kernel has been asked to watch.
///
/// For the sockets of connections the kernel keeps watching while libcurl wants nothing of them:
/// a kept-alive connection changes hands for every transfer, and would otherwise cost two system
/// calls each time. Any other descriptor libcurl shows (its resolver's) is watched only while it
/// is wanted, since those are closed without a word and their numbers used again.
package struct SocketInterest: Sendable {
  /// What the kernel has to be told.
  package enum Change: Equatable, Sendable {
    case add(UInt32)
    case modify(UInt32)
    case remove
  }

  private struct Entry {
    var isConnection = false
    var wanted: UInt32 = 0
    var watched: UInt32 = 0

    mutating func stopWatching() -> Change? {
      defer { watched = 0 }
      return watched == 0 ? nil : .remove
    }
  }

  // Indexed by descriptor; those are small numbers, given out from the lowest.
  private var entries: [Entry] = []

  /// Knows no descriptor.
  package init() {}

  /// Learns of a connection's new socket, which the kernel watches from the beginning.
  package mutating func open(_ descriptor: CInt, watching events: UInt32) -> Change {
    withEntry(descriptor) { $0 = Entry(isConnection: true, watched: events) }
    return .add(events)
  }

  /// Learns that a descriptor is gone, and with it what the kernel watched.
  package mutating func close(_ descriptor: CInt) {
    withEntry(descriptor) { $0 = Entry() }
  }

  /// Learns that a connection's descriptor now leads elsewhere, where nothing is watched.
  package mutating func replace(_ descriptor: CInt) {
    withEntry(descriptor) { $0.watched = 0 }
  }

  /// Learns what libcurl wants of a descriptor from now on; 0 is nothing.
  package mutating func want(_ events: UInt32, of descriptor: CInt) -> Change? {
    withEntry(descriptor) { entry in
      entry.wanted = events
      if events == 0 { return entry.isConnection ? nil : entry.stopWatching() }
      if events == entry.watched { return nil }
      defer { entry.watched = events }
      return entry.watched == 0 ? .add(events) : .modify(events)
    }
  }

  /// Gives up watching a descriptor of which nothing is wanted, until something is.
  package mutating func stopWatching(_ descriptor: CInt) -> Change? {
    withEntry(descriptor) { $0.stopWatching() }
  }

  /// What libcurl wants of a descriptor.
  package func wanted(of descriptor: CInt) -> UInt32 {
    entries.indices.contains(Int(descriptor)) ? entries[Int(descriptor)].wanted : 0
  }

  /// Whether a descriptor is the socket of a connection.
  package func isConnection(_ descriptor: CInt) -> Bool {
    entries.indices.contains(Int(descriptor)) && entries[Int(descriptor)].isConnection
  }

  private mutating func withEntry<Value>(
    _ descriptor: CInt, _ body: (inout Entry) -> Value
  ) -> Value {
    let index = Int(descriptor)
    while entries.count <= index { entries.append(Entry()) }
    return body(&entries[index])
  }
}
