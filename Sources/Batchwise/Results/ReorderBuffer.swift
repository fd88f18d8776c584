// SPDX-License-Identifier: Apache-2.0

/// Takes values in any order and gives them back in the order of their offsets, without gaps.
///
/// The values lie in a ring, which grows to the farthest that a value was ever ahead.
@usableFromInline
struct ReorderBuffer<Value> {
  /// The value at an offset is in the slot of that number modulo their count, a power of two.
  @usableFromInline var slots: [Value?] = []
  @usableFromInline var nextOffset = 0

  @inlinable init() {}

  /// How many values wait to be popped.
  var count: Int { slots.count { $0 != nil } }

  /// Keeps a value until all before it were popped.
  @inlinable mutating func insert(_ value: Value, at offset: Int) {
    precondition(offset >= nextOffset, "a value before this offset was already popped")
    if offset - nextOffset >= slots.count { grow(toHold: offset - nextOffset) }
    let slot = offset & (slots.count - 1)
    precondition(slots[slot] == nil, "this offset already has a value")
    slots[slot] = value
  }

  /// Removes and returns the value that is next in order, if it is there.
  @inlinable mutating func popNext() -> Value? {
    guard !slots.isEmpty else { return nil }
    guard let value = slots[nextOffset & (slots.count - 1)].take() else { return nil }
    nextOffset += 1
    return value
  }

  /// Passes over the offset that is next in order, whose value was never kept here.
  @inlinable mutating func skip() {
    nextOffset += 1
  }

  @usableFromInline mutating func grow(toHold distance: Int) {
    var count = max(slots.count * 2, 16)
    while count <= distance { count *= 2 }
    var grown = [Value?](repeating: nil, count: count)
    for offset in nextOffset..<nextOffset + slots.count {
      grown[offset & (count - 1)] = slots[offset & (slots.count - 1)].take()
    }
    slots = grown
  }
}
