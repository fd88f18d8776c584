// SPDX-License-Identifier: Apache-2.0

/// The outputs of a run, gathered in source order whatever the order they were stored in.
///
/// Slots are reserved block by block, under the feed's lock. They are filled without a lock, because
/// whoever has claimed an element is the only one who may write its slot.
struct Outputs<Output: Sendable> {
  private static var chunkSize: Int { 64 }

  private var chunks: [OutputChunk<Output>] = []
  private var used = 0
  private var count = 0

  /// Reserves neighbouring slots for the next elements of the source.
  mutating func reserve(_ wanted: Int) -> OutputSlots<Output> {
    if let last = chunks.last, last.capacity - used >= wanted {
      defer { advance(by: wanted) }
      return OutputSlots(chunk: last, first: used)
    }
    chunks.last?.shorten(to: used)
    let chunk = OutputChunk<Output>(capacity: max(wanted, Self.chunkSize))
    chunks.append(chunk)
    used = 0
    defer { advance(by: wanted) }
    return OutputSlots(chunk: chunk, first: 0)
  }

  private mutating func advance(by slots: Int) {
    used += slots
    count += slots
  }

  /// Moves all outputs out, in source order. Every reserved slot must have been filled.
  mutating func gather() -> [Output] {
    chunks.last?.shorten(to: used)
    defer { self = Outputs() }
    return Array(unsafeUninitializedCapacity: count) { buffer, initialized in
      for chunk in chunks {
        chunk.move(into: &buffer, at: &initialized)
      }
    }
  }
}

/// Neighbouring slots of a chunk, one for each element of a block.
struct OutputSlots<Output: Sendable>: Sendable {
  let chunk: OutputChunk<Output>
  let first: Int

  /// Keeps the output of the block's element at `index`.
  func store(_ output: Output, at index: Int) {
    chunk.store(output, at: first + index)
  }
}

/// A fixed number of slots, each of them empty or filled.
///
/// `@unchecked Sendable` holds because a slot is written at most once, by the one worker that
/// claimed its element, and is read only when all workers have been awaited.
final class OutputChunk<Output: Sendable>: @unchecked Sendable {
  let capacity: Int
  private var used: Int
  private let slots: UnsafeMutablePointer<Output?>

  init(capacity: Int) {
    self.capacity = capacity
    used = capacity
    slots = .allocate(capacity: capacity)
    slots.initialize(repeating: nil, count: capacity)
  }

  deinit {
    slots.deinitialize(count: capacity)
    slots.deallocate()
  }

  func store(_ output: Output, at slot: Int) {
    slots[slot] = output
  }

  /// Gives up the slots behind the first `count`.
  func shorten(to count: Int) {
    used = count
  }

  /// Moves the outputs to the end of what `buffer` holds.
  func move(into buffer: inout UnsafeMutableBufferPointer<Output>, at end: inout Int) {
    for slot in 0..<used {
      guard let output = slots[slot].take() else {
        preconditionFailure("an element of a finished run has no output")
      }
      buffer.initializeElement(at: end, to: output)
      end += 1
    }
  }
}
