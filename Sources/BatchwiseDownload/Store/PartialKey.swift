// SPDX-License-Identifier: Apache-2.0

/// What a kept partial file is found by: its item, and the state of the file that its bytes belong to.
///
/// Parts of two states of one file never take each other's place, so that none is gone on with as if
/// it were of the other. An item's key is made with its journal, so that no run goes on with a part of a
/// run with another journal.
struct PartialKey: Sendable, Hashable {
  /// The item.
  let item: ItemKey
  private let state: UInt64

  /// The key of an item's part that belongs to a state of its file.
  init(_ item: ItemKey, _ state: Validator) {
    self.item = item
    var hash = StableHash<UInt64>()
    switch state {
    case .entityTag(let tag): hash.add(tag)
    case .lastModified(let date, _): hash.add(date)
    }
    self.state = hash.value
  }

  /// The key that a file's name holds, or nil if it is the name of none that is found again.
  init?(name: String) {
    let parts = name.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0] == "partial",
      let item = Self.number(parts[1]), item <= Int64.max, let state = Self.number(parts[2])
    else { return nil }
    self.item = ItemKey(rawValue: Int64(item))
    self.state = state
  }

  /// The name of the file.
  var name: String { "partial-\(Self.digits(UInt64(item.rawValue)))-\(Self.digits(state))" }

  private static func digits(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  private static func number(_ digits: Substring) -> UInt64? {
    digits.utf8.count == 16 && digits.utf8.allSatisfy { $0.hexValue != nil }
      ? UInt64(digits, radix: 16) : nil
  }
}

extension ResumePoint {
  /// The key of the item's part that it goes on from.
  func partialKey(of item: ItemKey) -> PartialKey { PartialKey(item, validator) }
}
