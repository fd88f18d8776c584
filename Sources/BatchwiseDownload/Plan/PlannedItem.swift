// SPDX-License-Identifier: Apache-2.0

/// An item that can be started: its address is checked and its file has a name to wish for.
struct PlannedItem: Sendable {
  /// The item's number in this run, from 1.
  var id = 0
  let line: Int
  let address: WebAddress
  let name: FileName

  /// Checks an item of a list.
  ///
  /// - Throws: The item's flaw, or what is wrong with its address.
  init(_ item: WorkItem) throws(DownloadFailure) {
    if let flaw = item.flaw { throw flaw }
    line = item.line
    address = try WebAddress(item.address)
    name = FileName(for: address)
  }

  /// The name to use when the plain one is taken.
  var alternative: FileName { name.alternative(for: address) }
}

/// The names that items in flight hold, so that two of them never want the same file.
///
/// Names are claimed in the order of the list, before anything is requested: which of two items
/// gets the plain name does not depend on which of them is faster.
struct NameClaims {
  private var held: Set<FileName> = []

  /// Claims the plain name, or the alternative where the plain one is held.
  ///
  /// - Returns: The claimed name, or nil if both are held.
  mutating func claim(for item: PlannedItem) -> FileName? {
    if held.insert(item.name).inserted { return item.name }
    let alternative = item.alternative
    return held.insert(alternative).inserted ? alternative : nil
  }

  /// Gives back what `claim(for:)` claimed.
  mutating func release(_ name: FileName) { held.remove(name) }
}

/// Remembers the addresses of the last 65,536 items, to tell when one comes again.
///
/// Bounded because lists are not. It keeps hashes of 64 bits, seeded anew in each run: among a
/// million addresses, two differing ones are taken for the same once in some 300 million runs.
struct RecentAddresses {
  static let capacity = 65_536
  private var hashes: Set<Int> = []
  private var order: [Int] = []
  private var oldest = 0

  /// Remembers the address, and returns whether it was not remembered yet.
  mutating func insert(_ address: WebAddress) -> Bool {
    let hash = address.hashValue
    guard hashes.insert(hash).inserted else { return false }
    if order.count < Self.capacity {
      order.append(hash)
    } else {
      hashes.remove(order[oldest])
      order[oldest] = hash
      oldest = (oldest + 1) % Self.capacity
    }
    return true
  }
}
