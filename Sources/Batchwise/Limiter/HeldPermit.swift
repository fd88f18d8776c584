// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The mark that the body of `withPermit` carries, so that a limiter knows its own holders.
///
/// It is a task-local value, so child tasks have it too. An unstructured task keeps it longer than
/// the permit is held; the limiter then no longer knows the hold.
@usableFromInline
struct HeldPermit: Sendable {
  /// What is held further outside, of whatever limiter; a structure cannot hold its own kind.
  final class Outer: Sendable {
    let permit: HeldPermit

    init(_ permit: HeldPermit) { self.permit = permit }
  }

  /// Without the macro, whose projection could not be inlined into clients.
  @usableFromInline static let current = TaskLocal<HeldPermit?>(wrappedValue: nil)

  private static let lastLimiter = Atomic<Int>(0)

  /// A number for a limiter, never used twice as the address of one is.
  static func newLimiter() -> Int {
    lastLimiter.wrappingAdd(1, ordering: .relaxed).newValue
  }

  private let limiter: Int
  private let hold: SlabID
  private let outer: Outer?

  /// The mark for a hold, inside those there are already.
  init(_ hold: SlabID, of limiter: Int) {
    self.hold = hold
    self.limiter = limiter
    outer = HeldPermit.current.get().map(Outer.init)
  }

  /// The holds of a limiter that the current task is inside of, the innermost first.
  static func holds(of limiter: Int) -> [SlabID] {
    var holds: [SlabID] = []
    var permit = current.get()
    while let held = permit {
      if held.limiter == limiter { holds.append(held.hold) }
      permit = held.outer?.permit
    }
    return holds
  }
}
