// SPDX-License-Identifier: Apache-2.0

/// Where the items of a run come from: a list, standard input, an array, or a list without end.
public protocol WorkSource: Sendable {
  /// Waits for the next items and returns them as soon as there is one.
  ///
  /// Called by one task, one call after the other, and not again after nil or an error. When that
  /// task is cancelled the call ends soon. The items that it then returns are left and not begun; an
  /// end or an error means nothing then.
  ///
  /// - Parameter count: The most items to return, at least 1.
  /// - Returns: Between one and `count` items in the order of the list, or nil at its end.
  /// - Throws: When the list cannot be read on. The run then begins nothing more, and ends.
  mutating func next(upTo count: Int) async throws -> [WorkItem]?

  /// Takes out what has been read already and not been returned, by default nothing.
  ///
  /// The last call, made when a stop has ended the reading before the end of the list. What it returns is
  /// left and not begun; otherwise nobody would hear of it where the source is a pipe, which cannot be
  /// read a second time.
  mutating func takeBuffered() -> [WorkItem]
}

extension WorkSource {
  /// Nothing: all that has been read has been returned.
  public mutating func takeBuffered() -> [WorkItem] { [] }
}

/// One item of a list, as the list wrote it; nothing of it is checked but what has a type.
public struct WorkItem: Sendable, Equatable {
  /// The number of the item's physical line, from 1; 0 when it comes from no list.
  public var line: Int

  /// The item's address.
  public var address: String

  /// The name that the item's file shall have, perhaps in folders; nil for one made of its address.
  public var name: String?

  /// What the file's bytes shall come to.
  public var checksum: Checksum?

  /// How many bytes the file shall have.
  public var size: Int64?

  /// What to send with the request, to the address's own origin only.
  public var headers: [HeaderField] = []

  /// What makes the item unusable whatever its address, such as a line that is no text.
  public var flaw: DownloadFailure?

  /// What a batch that somebody looks at knows of it; nil in all others.
  var mark: RowMark?

  /// Describes one item.
  public init(line: Int = 0, address: String, flaw: DownloadFailure? = nil) {
    self.line = line
    self.address = address
    self.flaw = flaw
  }
}

/// A list that is already in memory.
public struct WorkList: WorkSource {
  private var rest: ArraySlice<WorkItem>

  /// Makes a source of addresses that come from no list.
  public init(addresses: [String]) {
    rest = addresses.map { WorkItem(address: $0) }[...]
  }

  /// The next items, or nil at the end of the list.
  public mutating func next(upTo count: Int) -> [WorkItem]? {
    guard !rest.isEmpty else { return nil }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }
}
