// SPDX-License-Identifier: Apache-2.0

internal import Dispatch

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Reads a list of addresses, one a line, from a file, a pipe or a terminal.
///
/// Holds one block of 64 KiB and one line, however long the list is, and reads no further than it
/// is asked for. An item is returned as soon as its line is complete. A line that is no text, or
/// longer than 64 KiB, becomes an item with a flaw.
public struct URLListReader: WorkSource {
  private let input: InputDescriptor
  private var lines = LineSplitter()
  private var isAtEnd = false

  /// Reads from an open descriptor, and closes it at the end if asked to.
  public init(descriptor: Int32, closesDescriptor: Bool = false) {
    input = InputDescriptor(descriptor, closes: closesDescriptor)
  }

  /// The next items, at once when a line is complete, or nil at the end of the list.
  public mutating func next(upTo count: Int) async throws -> [WorkItem]? {
    var items: [WorkItem] = []
    while !isAtEnd {
      while items.count < count, let line = lines.next() { items.append(WorkItem(line)) }
      if !items.isEmpty { return items }
      guard let bytes = try await input.nextBytes(), !bytes.isEmpty else {
        isAtEnd = true
        return lines.finish().map { [WorkItem($0)] }
      }
      lines.add(bytes)
    }
    return nil
  }
}

extension WorkItem {
  /// Makes an item of a line, with a flaw if the line cannot be an address.
  init(_ line: LineSplitter.Line) {
    let shown = String(decoding: line.bytes.prefix(200), as: UTF8.self)
    if line.isCut {
      let problem = "The line is longer than \(LineSplitter.longest) bytes"
      self.init(line: line.number, address: shown, flaw: DownloadFailure(.badURL, problem))
    } else if let text = String(validating: line.bytes, as: UTF8.self) {
      self.init(line: line.number, address: text)
    } else {
      let problem = "The line is not text in UTF-8"
      self.init(line: line.number, address: shown, flaw: DownloadFailure(.badURL, problem))
    }
  }
}

/// A list's descriptor, read on a queue of its own because a read may block for ever.
private final class InputDescriptor: Sendable {
  private static let blockSize = 65_536
  private let descriptor: Int32
  private let closes: Bool
  private let queue = DispatchQueue(label: "batchwise.list")
  /// Both ends of a pipe whose first byte ends every present and later wait.
  private let wake: (read: Int32, write: Int32)

  init(_ descriptor: Int32, closes: Bool) {
    self.descriptor = descriptor
    self.closes = closes
    var ends: [Int32] = [-1, -1]
    pipe(&ends)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    wake = (ends[0], ends[1])
  }

  deinit {
    close(wake.read)
    close(wake.write)
    if closes { close(descriptor) }
  }

  /// The next bytes, none at the end, or nil when the calling task was cancelled first.
  func nextBytes() async throws -> [UInt8]? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        queue.async { [self] in continuation.resume(with: Result { try readBlocking() }) }
      }
    } onCancel: {
      _ = write(wake.write, [0], 1)
    }
  }

  private func readBlocking() throws -> [UInt8]? {
    while true {
      var waits = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: wake.read, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&waits, 2, -1) >= 0 || errno == EINTR else { throw SystemError(errno) }
      if waits[1].revents != 0 { return nil }
      if waits[0].revents == 0 { continue }
      var count = 0
      let bytes = [UInt8](unsafeUninitializedCapacity: Self.blockSize) { buffer, used in
        count = read(descriptor, buffer.baseAddress, buffer.count)
        used = max(count, 0)
      }
      if count >= 0 { return bytes }
      // Another process may have made the shared descriptor non-blocking.
      guard errno == EINTR || errno == EAGAIN else { throw SystemError(errno) }
    }
  }
}
