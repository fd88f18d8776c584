// SPDX-License-Identifier: Apache-2.0

/// Values that stay where they are while others come and go.
///
/// An identifier is never used twice, so one that is out of date finds nothing.
///
/// - Complexity: O(1) for everything. Memory follows the number of values: an empty slab has given
///   back what a large one needed.
package struct Slab<Value> {
  /// Finds a value again.
  package typealias ID = SlabID

  /// The values; nil in a free slot.
  private var values: [Value?] = []
  /// The number of each slot's value; in a free slot, the next free one, negative.
  private var numbers: [Int] = []
  /// The first free slot, as it is written in `numbers`; zero for none.
  private var firstFree = 0
  private var lastNumber = 0

  /// How many values there are.
  package private(set) var count = 0

  /// Creates an empty slab.
  package init() {}

  /// Puts a value in.
  package mutating func insert(_ value: Value) -> ID {
    lastNumber += 1
    count += 1
    guard firstFree < 0 else {
      values.append(value)
      numbers.append(lastNumber)
      return ID(index: values.count - 1, number: lastNumber)
    }
    let index = -firstFree - 1
    firstFree = numbers[index]
    values[index] = value
    numbers[index] = lastNumber
    return ID(index: index, number: lastNumber)
  }

  /// Takes a value out, if it is still there.
  package mutating func remove(_ id: ID) -> Value? {
    guard contains(id) else { return nil }
    numbers[id.index] = firstFree
    firstFree = -id.index - 1
    count -= 1
    defer { if count == 0 { giveBackMemory() } }
    return values[id.index].take()
  }

  /// Whether the value of an identifier is still there.
  package func contains(_ id: ID) -> Bool {
    id.index < numbers.count && numbers[id.index] == id.number
  }

  /// The value of an identifier; nil if it is no longer there.
  package subscript(id: ID) -> Value? {
    contains(id) ? values[id.index] : nil
  }

  /// Looks at a value in its place; nil if it is no longer there.
  package func read<Result>(_ id: ID, _ look: (Value) -> Result) -> Result? {
    guard contains(id) else { return nil }
    // In its place, as in `update`.
    // swift-format-ignore: NeverForceUnwrap
    return look(values[id.index]!)
  }

  /// Changes a value in its place; it must still be there.
  package mutating func update<Result>(_ id: ID, _ change: (inout Value) -> Result) -> Result {
    precondition(contains(id), "a value was changed after it was taken out")
    // In its place: taken out and put back, whatever it holds would be copied with every change.
    // swift-format-ignore: NeverForceUnwrap
    return change(&values[id.index]!)
  }

  /// All values with their identifiers, in no order.
  package var entries: some Sequence<(id: ID, value: Value)> {
    values.indices.lazy.compactMap { index in
      values[index].map { (ID(index: index, number: numbers[index]), $0) }
    }
  }

  /// Small storage is kept, so that a slab that is often empty does not allocate each time.
  private mutating func giveBackMemory() {
    guard values.count > 64 else { return }
    values = []
    numbers = []
    firstFree = 0
  }
}

/// Finds a value of a slab again.
@usableFromInline
package struct SlabID: Hashable, Sendable {
  fileprivate let index: Int
  /// Counts the values put in, so it also tells which of two came first.
  package let number: Int

  /// Finds nothing.
  package static let none = SlabID(index: 0, number: 0)
}
