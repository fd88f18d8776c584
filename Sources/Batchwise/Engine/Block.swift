// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Elements that any number of workers claim from, each element by exactly one of them.
///
/// The elements never change; what is shared is one number, the index of the next unclaimed one.
final class Block<Element: Sendable, Output: Sendable>: Sendable {
  /// The elements, in source order.
  let elements: [Element]

  /// The place of the first element in the source, counted from zero.
  let offset: Int

  /// Where the outputs go, if they are kept.
  let slots: OutputSlots<Output>?

  private let next = Atomic<Int>(0)

  init(_ elements: [Element], offset: Int, slots: OutputSlots<Output>? = nil) {
    self.elements = elements
    self.offset = offset
    self.slots = slots
  }

  /// Claims the next element and returns its index, or nil when none is left.
  ///
  /// Nothing is published through this number, so it needs no ordering; the block itself reached
  /// the worker through the feed's lock.
  func claim() -> Int? {
    let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
    return index < elements.count ? index : nil
  }

  /// Makes every further claim fail, and returns how many elements were still unclaimed.
  func close() -> Int {
    // Far above every count, and far below the point where further claims could wrap around.
    let claimed = next.exchange(.max / 2, ordering: .relaxed)
    return max(0, elements.count - claimed)
  }
}
