// SPDX-License-Identifier: Apache-2.0

/// An item that can be started: its address is checked and its file has a name to wish for.
///
/// A class only so that it can be passed about without copying: it does not change.
final class PlannedItem: Sendable {
  /// The item as the list wrote it.
  let source: WorkItem
  let address: WebAddress
  let name: FileName
  /// What tells it from all others, in every run.
  let key: ItemKey

  var line: Int { source.line }

  /// Checks an item of a list.
  ///
  /// - Parameters:
  ///   - item: The item.
  ///   - salt: What its key is made with.
  /// - Throws: The item's flaw, or what is wrong with its address.
  init(_ item: WorkItem, salt: UInt64 = 0) throws(DownloadFailure) {
    if let flaw = item.flaw { throw flaw }
    source = item
    address = try WebAddress(item.address)
    name = FileName(for: address)
    key = ItemKey(of: item, address, salt: salt)
  }

  /// A record of what has become of it.
  func record(_ state: ItemRecord.State) -> ItemRecord {
    ItemRecord(key: key, url: address.redacted, state: state)
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

  /// Claims the name of an earlier run, or the plain name, or the alternative where that is held.
  ///
  /// - Returns: The claimed name, or nil if all are held.
  mutating func claim(for item: PlannedItem, previous: String? = nil) -> FileName? {
    if let previous, let name = FileName(recorded: previous), held.insert(name).inserted {
      return name
    }
    if held.insert(item.name).inserted { return item.name }
    let alternative = item.alternative
    return held.insert(alternative).inserted ? alternative : nil
  }

  /// Gives back what `claim(for:)` claimed.
  mutating func release(_ name: FileName) { held.remove(name) }
}

/// Remembers the keys of the last 65,536 items, to tell when one comes again.
///
/// Bounded because lists are not.
struct RecentItems {
  static let capacity = 65_536
  private var keys: Set<ItemKey> = []
  private var order: [ItemKey] = []
  private var oldest = 0

  /// Remembers the key, and returns whether it was not remembered yet.
  mutating func insert(_ key: ItemKey) -> Bool {
    guard keys.insert(key).inserted else { return false }
    if order.count < Self.capacity {
      order.append(key)
    } else {
      keys.remove(order[oldest])
      order[oldest] = key
      oldest = (oldest + 1) % Self.capacity
    }
    return true
  }
}
