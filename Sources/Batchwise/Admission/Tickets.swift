// SPDX-License-Identifier: Apache-2.0

/// Those who wait to be told something, each once.
///
/// Who takes a ticket is not suspended yet when the decision about it may already fall, so a ticket is
/// new, suspended or decided, and every order of these is an ordinary one. The first decision counts.
///
/// - Complexity: O(1), except for `decideAll`.
package struct Tickets<Waiter, Turn> {
  /// Finds a ticket again.
  package typealias ID = SlabID

  private enum Phase {
    /// Not yet suspended. Exits: suspended, decided.
    case new
    /// Suspended. Exit: over, when it is woken.
    case suspended(Waiter)
    /// Decided before it was suspended. Exit: over, when it is told.
    case decided(Turn)
  }

  private var phases = Slab<Phase>()

  /// Creates a state in which nobody waits.
  package init() {}

  /// How many tickets are not over.
  package var count: Int { phases.count }

  /// Gives out a ticket.
  package mutating func issue() -> ID { phases.insert(.new) }

  /// Suspends the holder of a ticket, unless it is decided already.
  package mutating func suspend(_ id: ID, _ waiter: Waiter) -> Turn? {
    if case .decided(let turn)? = phases[id] {
      _ = phases.remove(id)
      return turn
    }
    phases.update(id) { $0 = .suspended(waiter) }
    return nil
  }

  /// Decides about a ticket, unless somebody has, and returns who is to be woken.
  package mutating func decide(_ id: ID, _ turn: Turn) -> Waiter? {
    switch phases[id] {
    case .new?:
      phases.update(id) { $0 = .decided(turn) }
      return nil
    case .suspended(let waiter)?:
      _ = phases.remove(id)
      return waiter
    case .decided?, nil:
      return nil
    }
  }

  /// Decides about all tickets alike, and returns who is to be woken.
  package mutating func decideAll(_ turn: Turn) -> [Waiter] {
    guard count > 0 else { return [] }
    return Array(phases.entries).compactMap { decide($0.id, turn) }
  }
}
