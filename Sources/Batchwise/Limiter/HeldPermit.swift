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

  /// Without the macro, whose projection could not be inlined into clients, and without an optional,
  /// which the runtime is slow to copy.
  @usableFromInline static let current = TaskLocal(
    wrappedValue: HeldPermit(limiter: 0, hold: .none, outer: nil))

  private static let lastLimiter = Atomic<Int>(0)

  /// A number for a limiter, never used twice as the address of one is, and never zero.
  static func newLimiter() -> Int {
    lastLimiter.wrappingAdd(1, ordering: .relaxed).newValue
  }

  /// The number of the limiter; zero if nothing is held.
  private let limiter: Int
  private let hold: SlabID
  private let outer: Outer?

  private init(limiter: Int, hold: SlabID, outer: Outer?) {
    self.limiter = limiter
    self.hold = hold
    self.outer = outer
  }

  /// The mark for a hold, inside those there are already.
  init(_ hold: SlabID, of limiter: Int) {
    let current = HeldPermit.current.get()
    self.init(limiter: limiter, hold: hold, outer: current.limiter == 0 ? nil : Outer(current))
  }

  /// The holds of a limiter that the current task is inside of, the innermost first.
  static func holds(of limiter: Int) -> [SlabID] {
    var permit = current.get()
    var holds: [SlabID] = []
    while true {
      if permit.limiter == limiter { holds.append(permit.hold) }
      guard let outer = permit.outer else { return holds }
      permit = outer.permit
    }
  }
}
