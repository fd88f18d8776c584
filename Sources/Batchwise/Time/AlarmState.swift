// SPDX-License-Identifier: Apache-2.0

/// Decides who has to sleep so that every deadline is noticed, and what is due at a wake-up.
///
/// A sleep cannot be moved, and one that is cancelled may keep its memory until its time has come.
/// So nothing is cancelled: a sleeper is added only for a deadline that is earlier than all others
/// sleep for, and one that finds nothing to do is let go. Deadlines that come and go with the same
/// distance, as timeouts do, share one sleeper.
package struct AlarmState<Action> {
  /// Finds a deadline again.
  package typealias ID = IndexedHeap<Duration, Action>.ID

  /// Somebody who sleeps until a moment.
  package struct Sleeper: Sendable, Equatable {
    /// Tells it from all others.
    package let number: Int
    /// When it is to wake.
    package let deadline: Duration
  }

  private var deadlines = IndexedHeap<Duration, Action>()
  /// Each sleeps for less long than the one before.
  private var sleepers: [Sleeper] = []
  private var lastNumber = 0

  /// Creates a state in which nothing is set.
  package init() {}

  /// How many deadlines are set.
  package var count: Int { deadlines.count }

  /// How many sleep.
  package var sleeperCount: Int { sleepers.count }

  /// Whether it still sleeps.
  package func sleeps(_ sleeper: Sleeper) -> Bool { sleepers.contains(sleeper) }

  /// Whether a deadline is set.
  package func isSet(_ id: ID) -> Bool { deadlines[id] != nil }

  /// Sets a deadline.
  ///
  /// - Returns: What finds it again, and who has to begin to sleep now.
  package mutating func set(
    _ action: Action, at deadline: Duration
  ) -> (id: ID, sleeper: Sleeper?) {
    let id = deadlines.insert(action, rank: deadline)
    return (id, nextSleeper())
  }

  /// Takes a deadline out; nil if it is no longer set.
  package mutating func cancel(_ id: ID) -> Action? {
    deadlines.remove(id)
  }

  /// Notes that a sleeper is awake.
  ///
  /// - Returns: What is due, in the order of the deadlines, and who has to begin to sleep now.
  package mutating func wake(
    _ sleeper: Sleeper, at now: Duration
  ) -> (due: [Action], sleeper: Sleeper?) {
    sleepers.removeAll { $0.number == sleeper.number }
    var due: [Action] = []
    while let first = deadlines.first, first.rank <= now {
      due.append(first.value)
      _ = deadlines.popFirst()
    }
    return (due, nextSleeper())
  }

  private mutating func nextSleeper() -> Sleeper? {
    guard let earliest = deadlines.first?.rank else { return nil }
    if let last = sleepers.last, last.deadline <= earliest { return nil }
    lastNumber += 1
    let sleeper = Sleeper(number: lastNumber, deadline: earliest)
    sleepers.append(sleeper)
    return sleeper
  }
}
