// SPDX-License-Identifier: Apache-2.0

/// Takes values in any order and gives them back in the order of their offsets, without gaps.
struct ReorderBuffer<Value> {
  private var values: [Int: Value] = [:]
  private var nextOffset = 0

  /// How many values wait to be popped.
  var count: Int { values.count }

  /// Keeps a value until all before it were popped.
  mutating func insert(_ value: Value, at offset: Int) {
    precondition(offset >= nextOffset, "a value before this offset was already popped")
    let earlier = values.updateValue(value, forKey: offset)
    precondition(earlier == nil, "this offset already has a value")
  }

  /// Removes and returns the value that is next in order, if it is there.
  mutating func popNext() -> Value? {
    guard let value = values.removeValue(forKey: nextOffset) else { return nil }
    nextOffset += 1
    return value
  }
}
