// SPDX-License-Identifier: Apache-2.0

/// Values that stay where they are while others come and go.
///
/// An identifier is never used twice, so one that is out of date finds nothing.
///
/// - Complexity: O(1) for everything. Memory follows the number of values: an empty slab has given
///   back what a large one needed.
package struct Slab<Value> {
  /// Finds a value again.
  package struct ID: Hashable, Sendable {
    fileprivate let index: Int
    /// Counts the values put in, so it also tells which of two came first.
    package let number: Int
  }

  private struct Slot {
    /// Nil in a free slot.
    var value: Value?
    /// In a free slot, the next free one, or -1.
    var number: Int
  }

  private var slots: [Slot] = []
  private var firstFree = -1
  private var lastNumber = 0

  /// How many values there are.
  package private(set) var count = 0

  /// Creates an empty slab.
  package init() {}

  /// Puts a value in.
  package mutating func insert(_ value: Value) -> ID {
    lastNumber += 1
    count += 1
    let slot = Slot(value: value, number: lastNumber)
    guard firstFree >= 0 else {
      slots.append(slot)
      return ID(index: slots.count - 1, number: lastNumber)
    }
    let index = firstFree
    firstFree = slots[index].number
    slots[index] = slot
    return ID(index: index, number: lastNumber)
  }

  /// Takes a value out, if it is still there.
  package mutating func remove(_ id: ID) -> Value? {
    guard contains(id) else { return nil }
    let value = slots[id.index].value.take()
    slots[id.index].number = firstFree
    firstFree = id.index
    count -= 1
    // Small storage is kept, so that a slab that is often empty does not allocate each time.
    if count == 0, slots.count > 64 {
      slots = []
      firstFree = -1
    }
    return value
  }

  /// Whether the value of an identifier is still there.
  package func contains(_ id: ID) -> Bool {
    id.index < slots.count && slots[id.index].number == id.number && slots[id.index].value != nil
  }

  /// The value of an identifier; nil if it is no longer there.
  package subscript(id: ID) -> Value? {
    contains(id) ? slots[id.index].value : nil
  }

  /// Changes a value in its place; nil if it is no longer there.
  @discardableResult
  package mutating func update<Result>(_ id: ID, _ change: (inout Value) -> Result) -> Result? {
    guard contains(id) else { return nil }
    return slots[id.index].value.mutate(change)
  }

  /// All values with their identifiers, in no order.
  package var entries: some Sequence<(id: ID, value: Value)> {
    slots.indices.lazy.compactMap { index in
      let slot = slots[index]
      return slot.value.map { (ID(index: index, number: slot.number), $0) }
    }
  }
}

extension Optional where Wrapped: ~Copyable {
  /// Changes what is there, in its place.
  fileprivate mutating func mutate<Result>(_ change: (inout Wrapped) -> Result) -> Result? {
    switch consume self {
    case .some(var value):
      let result = change(&value)
      self = .some(value)
      return result
    case .none:
      self = .none
      return nil
    }
  }
}
