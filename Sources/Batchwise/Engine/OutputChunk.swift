// SPDX-License-Identifier: Apache-2.0

/// Slots for the outputs of a block's elements, each of them empty or filled.
///
/// `@unchecked Sendable` holds because a slot is written at most once, by the one worker that
/// claimed its element, and is read only when all workers have been awaited.
@usableFromInline
final class OutputChunk<Output: Sendable>: @unchecked Sendable {
  @usableFromInline let capacity: Int
  @usableFromInline let slots: UnsafeMutablePointer<Output?>

  @inlinable init(capacity: Int) {
    self.capacity = capacity
    slots = .allocate(capacity: capacity)
    slots.initialize(repeating: nil, count: capacity)
  }

  deinit {
    slots.deinitialize(count: capacity)
    slots.deallocate()
  }

  /// Keeps the output of the element at `index`.
  @inlinable func store(_ output: Output, at index: Int) {
    slots[index] = output
  }

  /// Moves the first `count` outputs of all chunks out, in order, each of which must be there.
  @inlinable static func gather(_ chunks: [OutputChunk], count: Int) -> [Output] {
    // An array of none is one that all threads share, and this would write its count into it.
    if count == 0 { return [] }
    return Array(unsafeUninitializedCapacity: count) { buffer, initialized in
      for chunk in chunks {
        for index in 0..<min(chunk.capacity, count - initialized) {
          guard let output = chunk.slots[index].take() else {
            preconditionFailure("an element of a finished run has no output")
          }
          buffer.initializeElement(at: initialized, to: output)
          initialized += 1
        }
      }
    }
  }
}
