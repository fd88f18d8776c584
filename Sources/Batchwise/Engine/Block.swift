// SPDX-License-Identifier: Apache-2.0

/// Elements that one feeder appends and any number of workers claim, each by exactly one of them,
/// and room for what becomes of them.
///
/// `@unchecked Sendable` holds because every slot has one user at a time. An element is written by
/// the one feeder before it is ready, and taken by whoever claims it; what nobody claimed goes with
/// the block. An output is written by whoever claimed its element, and read when all workers have
/// been awaited.
@usableFromInline
final class Block<Element: Sendable, Output: Sendable>: BlockNumbers, @unchecked Sendable {
  /// The elements, if the block shares an array.
  @usableFromInline let array: [Element]?
  /// The elements, if the block is filled one by one.
  @usableFromInline let storage: UnsafeMutablePointer<Element>?
  @usableFromInline let outputs: OutputChunk<Output>?

  /// A block that shares an array, all of it ready.
  @usableFromInline init(_ array: [Element], outputs: OutputChunk<Output>?) {
    self.array = array
    self.outputs = outputs
    storage = nil
    super.init(offset: 0, capacity: array.count, ready: array.count)
  }

  /// A block to be filled.
  @usableFromInline init(offset: Int, capacity: Int, outputs: OutputChunk<Output>?) {
    array = nil
    self.outputs = outputs
    storage = .allocate(capacity: capacity)
    super.init(offset: offset, capacity: capacity)
  }

  deinit {
    storage?.advanced(by: claimed).deinitialize(count: count - claimed)
    storage?.deallocate()
  }

  /// Whether nothing more can be appended.
  @inlinable var isFull: Bool { count == capacity }

  /// Appends an element and makes it ready; only the feeder calls this.
  @inlinable func append(_ element: Element) {
    precondition(!isFull, "a block was filled beyond its capacity")
    storage?.advanced(by: count).initialize(to: element)
    addReady()
  }

  /// Takes the element at an index out; only whoever has claimed it calls this, and once.
  ///
  /// So an element of a sequence is let go of when its body ends, however large the block is.
  @inlinable func take(_ index: Int) -> Element {
    if let array { return array[index] }
    guard let storage else { preconditionFailure("a block has either an array or storage") }
    return storage.advanced(by: index).move()
  }

  /// Keeps the output of the element at `index`, if outputs are kept.
  @inlinable func store(_ output: Output, at index: Int) {
    outputs?.store(output, at: index)
  }
}
