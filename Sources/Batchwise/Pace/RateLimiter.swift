// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Lets tasks go on at a limited rate, first come, first served.
///
///     let limiter = RateLimiter(.tokenBucket(10, per: .seconds(1), burst: 5))
///     for url in urls {
///       try await limiter.acquire()
///       try await load(url)
///     }
///
/// It bounds how many *start* in a length of time, and not how many are in flight. Nobody
/// overtakes: who needs many tokens is waited for by those behind who need few.
public final class RateLimiter: Sendable {
  private typealias State = RateLimiterState<OneShot<Bool>>

  /// What a rate limiter does, at one moment.
  public struct Status: Sendable, Hashable {
    /// The limit that is kept.
    public let limit: RateLimit
    /// How many tokens could be taken if nobody waited.
    public let available: Int
    /// How many tasks wait.
    public let waiting: Int
  }

  private let alarm: Alarm
  private let state: Mutex<State>

  /// Creates a limiter that has let nobody through.
  ///
  /// - Parameters:
  ///   - limit: How many tokens can be taken in a length of time.
  ///   - clock: What the time is measured by.
  public init(_ limit: RateLimit, clock: some Clock<Duration> = ContinuousClock()) {
    alarm = Alarm.shared(for: clock)
    state = Mutex(State(limit))
  }

  /// Waits until it is this task's turn and the tokens are there, and takes them.
  ///
  /// **Cancellation.** A task that is cancelled while it waits takes nothing, and those behind it
  /// move up by what it would have taken. One that is cancelled after its turn has the tokens.
  ///
  /// - Parameter tokens: How many; fewer than one, or more than can ever be there at once, is a
  ///   programming error and traps. If the limit is lowered below it afterwards, it waits for all
  ///   that can be there.
  /// - Throws: `CancellationError` if the task is cancelled before its turn, or when it comes.
  /// - Complexity: O(log *n*) for *n* tasks that wait. All that wait share one sleep.
  public func acquire(tokens: Int = 1) async throws(CancellationError) {
    if Task.isCancelled { throw CancellationError() }
    if tryAcquire(tokens: tokens) { return }
    let turn = OneShot<Bool>()
    let id = settle { $0.park(turn, for: tokens, at: $1) }
    let isGranted = await withTaskCancellationHandler {
      await turn.value
    } onCancel: {
      cancel(id)
    }
    if !isGranted { throw CancellationError() }
  }

  /// Takes tokens if they are there and nobody waits.
  ///
  /// - Parameter tokens: How many; fewer than one, or more than can ever be there at once, is a
  ///   programming error and traps.
  /// - Returns: Whether they were taken.
  /// - Complexity: O(1) for a bucket; for a window, O(*k*) for *k* moments that have left it since.
  public func tryAcquire(tokens: Int = 1) -> Bool {
    let now = alarm.now
    return state.withLock { state in
      Self.check(tokens, by: state.rate.limit)
      return state.take(tokens, at: now)
    }
  }

  /// Changes the limit.
  ///
  /// What was taken stays taken, and counts by the new limit; those who wait keep their turn. The
  /// same limit changes nothing.
  ///
  /// - Complexity: O(1) for a bucket, O(*k*) for *k* moments in a window, besides those who go on.
  public func setLimit(_ limit: RateLimit) {
    settle { ((), $0.setLimit(limit, at: $1)) }
  }

  /// The limit, what is available and how many wait, in one snapshot.
  ///
  /// - Complexity: O(1) for a bucket, O(*k*) for *k* moments in a window.
  public var status: Status {
    let now = alarm.now
    return state.withLock { state in
      Status(
        limit: state.rate.limit, available: state.rate.available(at: now), waiting: state.waiting)
    }
  }

  private static func check(_ tokens: Int, by limit: RateLimit) {
    precondition(
      (1...limit.burst).contains(tokens), "\(tokens) tokens of \(limit.burst) that can be there")
  }

  private func cancel(_ id: State.ID) {
    settle { $0.cancel(id, at: $1) }?.give(false)
  }

  /// Changes the state, and does what follows when the lock is gone.
  private func settle<Result: Sendable>(
    _ change: @Sendable (inout State, Duration) -> (Result, State.Action)
  ) -> Result {
    let now = alarm.now
    let (result, action) = state.withLock { change(&$0, now) }
    for waiter in action.granted { waiter.give(true) }
    if let moment = action.alarm {
      alarm.set(at: moment) { [weak self] in self?.settle { ((), $0.admit(at: $1)) } }
    }
    return result
  }
}
