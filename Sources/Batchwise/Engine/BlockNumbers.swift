// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The numbers of a block: how many of its elements are ready, and which is the next to be claimed.
///
/// All traffic between the feeder and the workers goes over these two. What the elements are does
/// not matter here, so that the feed's rule needs no generics, and its tests no elements.
///
/// `@unchecked Sendable` holds because there are only constants and atomics; the compiler cannot
/// check it for a class that has a subclass.
@usableFromInline
class BlockNumbers: @unchecked Sendable {
  /// The place of the first element in the source, counted from zero.
  @usableFromInline final let offset: Int

  /// The most elements the block will hold.
  @usableFromInline final let capacity: Int

  private final let ready: Atomic<Int>
  private final let next = Atomic<Int>(0)
  private final let claimedWhenClosed = Atomic<Int>(0)
  private final let isWhole: Bool

  /// Far above every index, and far below the point where further claims could wrap around.
  private static var closed: Int { .max / 2 }

  /// A block in which `ready` elements are ready from the start.
  @usableFromInline init(offset: Int, capacity: Int, ready: Int = 0) {
    self.offset = offset
    self.capacity = capacity
    self.ready = Atomic(ready)
    isWhole = ready == capacity
  }

  /// How many elements are ready, claimed or not.
  @usableFromInline final var count: Int { ready.load(ordering: .sequentiallyConsistent) }

  /// How many elements were claimed, of a block that is filled one by one.
  @usableFromInline final var claimed: Int {
    isClosed ? claimedWhenClosed.load(ordering: .relaxed) : next.load(ordering: .relaxed)
  }

  /// How many elements can be claimed now.
  final var unclaimed: Int {
    max(0, count - next.load(ordering: .sequentiallyConsistent))
  }

  /// Whether claims have been made to fail.
  @usableFromInline final var isClosed: Bool { next.load(ordering: .relaxed) >= Self.closed }

  /// Makes one more element ready; only the feeder calls this.
  @usableFromInline final func addReady() {
    ready.store(ready.load(ordering: .relaxed) + 1, ordering: .sequentiallyConsistent)
  }

  /// Claims the next element and returns its index, or nil when none is ready.
  @usableFromInline final func claim() -> Int? {
    if isWhole {
      let index = next.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue
      return index < capacity ? index : nil
    }
    // Adding first would claim elements that are not ready.
    var index = next.load(ordering: .relaxed)
    while index < ready.load(ordering: .sequentiallyConsistent) {
      let (exchanged, original) = next.weakCompareExchange(
        expected: index, desired: index + 1, ordering: .sequentiallyConsistent)
      if exchanged { return index }
      index = original
    }
    return nil
  }

  /// Makes every further claim fail, and returns how many elements were unclaimed.
  final func close() -> Int {
    let claimed = next.exchange(Self.closed, ordering: .sequentiallyConsistent)
    if claimed < Self.closed { claimedWhenClosed.store(claimed, ordering: .relaxed) }
    return max(0, count - claimed)
  }
}
