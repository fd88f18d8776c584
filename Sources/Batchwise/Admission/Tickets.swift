// SPDX-License-Identifier: Apache-2.0

/// Those who wait to be told something, each once.
///
/// Who takes a ticket is not suspended yet when the decision about it may already fall, so a ticket is
/// new, suspended or decided, and every order of these is an ordinary one. The first decision counts.
/// Until then a ticket keeps a note of what is waited for.
///
/// - Complexity: O(1), except for `decideAll`.
package struct Tickets<Waiter, Turn, Note> {
  /// Finds a ticket again.
  package typealias ID = SlabID

  private enum Ticket {
    /// Not yet suspended. Exits: suspended, decided.
    case new(Note)
    /// Suspended. Exit: over, when it is woken.
    case suspended(Note, Waiter)
    /// Decided before it was suspended. Exit: over, when it is told.
    case decided(Turn)
  }

  private var tickets = Slab<Ticket>()

  /// Creates a state in which nobody waits.
  package init() {}

  /// How many tickets are not over.
  package var count: Int { tickets.count }

  /// Gives out a ticket.
  package mutating func issue(_ note: Note) -> ID { tickets.insert(.new(note)) }

  /// What a ticket waits for; nil once it is decided.
  package subscript(id: ID) -> Note? {
    switch tickets[id] {
    case .new(let note)?, .suspended(let note, _)?: note
    case .decided?, nil: nil
    }
  }

  /// Changes what a ticket waits for, unless it is decided.
  package mutating func setNote(_ note: Note, of id: ID) {
    switch tickets[id] {
    case .new?: tickets.update(id) { $0 = .new(note) }
    case .suspended(_, let waiter)?: tickets.update(id) { $0 = .suspended(note, waiter) }
    case .decided?, nil: break
    }
  }

  /// Suspends the holder of a ticket, unless it is decided already.
  package mutating func suspend(_ id: ID, _ waiter: Waiter) -> Turn? {
    switch tickets[id] {
    case .new(let note)?:
      tickets.update(id) { $0 = .suspended(note, waiter) }
      return nil
    case .decided(let turn)?:
      _ = tickets.remove(id)
      return turn
    case .suspended?, nil: preconditionFailure("a ticket was used twice")
    }
  }

  /// Decides about a ticket, unless somebody has, and returns who is to be woken.
  package mutating func decide(_ id: ID, _ turn: Turn) -> Waiter? {
    switch tickets[id] {
    case .new?:
      tickets.update(id) { $0 = .decided(turn) }
      return nil
    case .suspended(_, let waiter)?:
      _ = tickets.remove(id)
      return waiter
    case .decided?, nil:
      return nil
    }
  }

  /// Decides about all tickets alike, and returns who is to be woken.
  package mutating func decideAll(_ turn: Turn) -> [Waiter] {
    guard count > 0 else { return [] }
    return Array(tickets.entries).compactMap { decide($0.id, turn) }
  }
}

extension Tickets where Note == Void {
  /// Gives out a ticket.
  package mutating func issue() -> ID { issue(()) }
}
