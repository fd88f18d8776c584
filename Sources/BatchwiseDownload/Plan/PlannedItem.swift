// SPDX-License-Identifier: Apache-2.0

/// An item that can be started: its address is checked and its file has a path to wish for.
///
/// A class only so that it can be passed about without copying: it does not change.
final class PlannedItem: Sendable {
  /// The item as the list wrote it.
  let source: WorkItem
  let address: WebAddress
  /// Where its file shall go, unless that is taken.
  let path: OutputPath
  /// What tells it from all others, in every run.
  let key: ItemKey

  /// The number of the item's physical line, from 1; 0 when it comes from no list.
  var line: Int { source.line }

  /// Checks an item of a list.
  ///
  /// - Parameters:
  ///   - item: The item. If it brings a name, that is its path.
  ///   - naming: How the file of an item without a name is named.
  ///   - number: The item's number in the list, from 1; for names made of it.
  ///   - salt: What its key is made with.
  /// - Throws: The item's flaw, or what is wrong with its address or its name.
  init(
    _ item: WorkItem, naming: Naming = .url, number: Int = 0, salt: UInt64 = 0
  ) throws(DownloadFailure) {
    if let flaw = item.flaw { throw flaw }
    source = item
    address = try WebAddress(item.address)
    if let name = item.name {
      path = try OutputPath(listed: name)
    } else {
      path = OutputPath(FileName(for: address, naming, number: number))
    }
    key = ItemKey(of: item, address, salt: salt)
  }

  /// The path to use when the plain one is taken.
  var alternative: OutputPath { path.alternative(for: address) }

  /// A record of what has become of it.
  func record(_ state: ItemRecord.State, previous: StoredFile? = nil) -> ItemRecord {
    ItemRecord(key: key, url: address.redacted, state: state, previous: previous)
  }

  /// The item as a list that holds only some of the items has to write it: with the name that its
  /// place in this list gives it.
  ///
  /// - Parameters:
  ///   - naming: How the run has named files.
  ///   - claimed: The path that it has claimed, if it has.
  /// - Returns: The item.
  func asUnfinished(_ naming: Naming, path claimed: OutputPath? = nil) -> WorkItem {
    var item = source
    item.mark?.path = claimed
    if naming == .index, item.name == nil { item.name = path.description }
    return item
  }
}

extension WorkItem {
  /// The item as a list that holds only some of the items has to write it, if it was the list's item of
  /// that number.
  package func asUnfinished(_ naming: Naming, number: Int) -> WorkItem {
    let planned = try? PlannedItem(self, naming: naming, number: number)
    return planned?.asUnfinished(naming) ?? self
  }
}
