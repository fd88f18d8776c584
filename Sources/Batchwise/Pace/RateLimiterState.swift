// SPDX-License-Identifier: Apache-2.0

/// Decides who may go on by a rate, first come, first served, and when to look again.
struct RateLimiterState<Waiter> {
  /// Finds somebody who waits again.
  typealias ID = IndexedHeap<Int, (tokens: Int, waiter: Waiter)>.ID

  /// What follows from an event.
  struct Action {
    /// Who goes on now, in order.
    var granted: [Waiter] = []
    /// When to ask for `admit` again; nil if that has been arranged or nobody waits.
    var alarm: Duration?
  }

  /// What was taken.
  private(set) var rate: RateLimitState
  /// All have the same rank, so they stand in the order in which they came.
  private var waiters = IndexedHeap<Int, (tokens: Int, waiter: Waiter)>()
  /// When it will be asked to admit.
  private var nextAlarm: Duration?

  init(_ limit: RateLimit) { rate = RateLimitState(limit) }

  /// How many wait.
  var waiting: Int { waiters.count }

  /// Takes tokens if nobody waits for others and they are there.
  mutating func take(_ tokens: Int, at now: Duration) -> Bool {
    waiters.isEmpty && rate.take(tokens, at: now) == .taken
  }

  /// Puts somebody behind all others.
  mutating func park(_ waiter: Waiter, for tokens: Int, at now: Duration) -> (id: ID, Action) {
    let id = waiters.insert((tokens, waiter), rank: 0)
    return (id, admit(at: now))
  }

  /// Takes somebody out who has not been granted anything.
  ///
  /// Whoever is behind needs nothing back: tokens are taken when they are granted, and not before.
  mutating func cancel(_ id: ID, at now: Duration) -> (waiter: Waiter?, Action) {
    guard let (_, waiter) = waiters.remove(id) else { return (nil, Action()) }
    return (waiter, admit(at: now))
  }

  /// Changes the limit.
  mutating func setLimit(_ limit: RateLimit, at now: Duration) -> Action {
    rate.setLimit(limit, at: now)
    return admit(at: now)
  }

  /// Grants what can be granted.
  mutating func admit(at now: Duration) -> Action {
    var action = Action()
    if let alarm = nextAlarm, alarm <= now { nextAlarm = nil }
    while let first = waiters.first {
      guard case .notBefore(let moment) = rate.take(first.value.tokens, at: now) else {
        action.granted.append(first.value.waiter)
        _ = waiters.popFirst()
        continue
      }
      // An alarm that comes too early is of no harm, so none is ever taken back.
      if nextAlarm.map({ moment < $0 }) ?? true {
        nextAlarm = moment
        action.alarm = moment
      }
      break
    }
    return action
  }
}
