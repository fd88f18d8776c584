// SPDX-License-Identifier: Apache-2.0

/// Tries again what fails, with a permit for each attempt and none during the pauses.
///
///     let page = try await withRetry(policy, limiter: limiter) { _ in try await load(url) }
///
/// As `withRetry` without a limiter. The permit is given back before a pause, so that in an outage
/// the limit is not used up by those who only wait. After the pause the call asks for a permit with
/// its old place: before all who came to the limiter after this call began, among those of its
/// priority. Waiting for a permit counts in the time budget, but interrupts nothing.
///
/// **Nesting.** In a body that holds a permit of this limiter, what the limiter's ``PermitNesting``
/// says is done; such a permit is held during the pauses, too. ``NestedPermitError`` is never a
/// reason to try again.
///
/// - Parameters:
///   - policy: Whether, when and how often to try again.
///   - limiter: Whose permit an attempt holds.
///   - priority: Where to stand in the order; the priority of the current task by default.
///   - weight: How many permits an attempt holds; see
///     ``ConcurrencyLimiter/withPermit(priority:weight:_:)``.
///   - budget: What all retries of several calls are paid from; nil for no such bound.
///   - clock: What time is measured by, and pauses last by.
///   - generator: Where the backoff's random part comes from.
///   - body: The attempt. It runs in the calling task, in its isolation.
/// - Returns: What the first attempt to succeed returns.
/// - Throws: What the last attempt throws, `CancellationError`, or ``NestedPermitError``.
/// - Complexity: O(log *n*) for each attempt, where *n* wait for a permit or for a deadline.
public func withRetry<Success>(
  _ policy: RetryPolicy, limiter: ConcurrencyLimiter, priority: TaskPriority? = nil,
  weight: Int = 1, budget: RetryBudget? = nil, clock: some Clock<Duration> = ContinuousClock(),
  generator: some RandomNumberGenerator = SystemRandomNumberGenerator(),
  _ body: (RetryAttempt) async throws -> Success
) async throws -> Success {
  let storage = limiter.storage
  let arrival = storage.newArrival()
  return try await retry(policy, budget: budget, by: Alarm.shared(for: clock), generator) {
    attempt in
    let hold = try await storage.acquire(
      priority: priority, weight: weight, arrival: arrival)
    defer { storage.release(hold) }
    return try await HeldPermit.current.withValue(storage.mark(hold)) {
      try await body(attempt())
    }
  }
}
