// SPDX-License-Identifier: Apache-2.0

/// One of several tries.
public struct RetryAttempt: Sendable, Hashable {
  /// Its number; the first is 1.
  public let number: Int
  /// How much is left of the policy's time budget; nil if it has none.
  ///
  /// For an attempt that is to be cut off with the budget: `withTimeout(timeLeft)`.
  public let timeLeft: Duration?
}

/// Tries again what fails, as the policy says.
///
///     let page = try await withRetry(policy) { attempt in
///       try await withTimeout(.seconds(5)) { try await load(url) }
///     }
///
/// Between two attempts it pauses for the policy's backoff. It gives up, and throws the latest
/// error as it is, when the policy says so for that error, when the attempts are used up, when the
/// next attempt would begin after the time budget, which is known before the pause, or when the
/// budget does not pay.
///
/// **Cancellation** of the calling task ends the call: nothing is tried again, whatever was thrown.
/// During a pause, `CancellationError` is thrown if the error type has room for it, and the latest
/// error otherwise. A task that is cancelled when it comes makes no attempt, or the first one if
/// there is no room for a `CancellationError`.
///
/// - Parameters:
///   - policy: Whether, when and how often to try again.
///   - budget: What all retries of several calls are paid from; nil for no such bound.
///   - clock: What time is measured by, and pauses last by.
///   - generator: Where the backoff's random part comes from.
///   - body: The attempt. It runs in the calling task, in its isolation.
/// - Returns: What the first attempt to succeed returns.
/// - Throws: What the last attempt throws, or `CancellationError`.
/// - Complexity: No task of its own; a pause costs O(log *n*) for *n* deadlines that are set.
public func withRetry<Success, Failure: Error>(
  _ policy: RetryPolicy, budget: RetryBudget? = nil,
  clock: some Clock<Duration> = ContinuousClock(),
  generator: some RandomNumberGenerator = SystemRandomNumberGenerator(),
  _ body: (RetryAttempt) async throws(Failure) -> Success
) async throws(Failure) -> Success {
  try await retry(
    policy, budget: budget, by: Alarm.shared(for: clock), generator,
    runAttempt: { attempt throws(Failure) in try await body(attempt()) })
}

/// Tries again what fails; running one attempt is a parameter.
///
/// An attempt is described when it begins, which may be later than it is run: it may have to wait
/// for a permit.
func retry<Success, Failure: Error>(
  _ policy: RetryPolicy, budget: RetryBudget?, by alarm: Alarm,
  _ generator: some RandomNumberGenerator,
  sleep: ((_ deadline: Duration) async throws(CancellationError) -> Void)? = nil,
  runAttempt: (_ attempt: () -> RetryAttempt) async throws(Failure) -> Success
) async throws(Failure) -> Success {
  if Task.isCancelled, let error = CancellationError() as? Failure { throw error }
  let begin = alarm.now
  var generator = generator
  var failures = 0
  while true {
    let failure: Failure
    do throws(Failure) {
      let number = failures + 1
      let success = try await runAttempt {
        RetryAttempt(number: number, timeLeft: policy.timeBudget.map { $0 - (alarm.now - begin) })
      }
      budget?.recordSuccess()
      return success
    } catch {
      failure = error
    }
    failures += 1
    let now = alarm.now
    guard
      !Task.isCancelled,
      let pause = policy.pause(
        after: failure, failures: failures, elapsed: now - begin, using: &generator),
      budget?.payForRetry() ?? true
    else { throw failure }
    do {
      if let sleep {
        try await sleep(now + min(pause, .century))
      } else {
        try await alarm.sleep(until: now + min(pause, .century))
      }
    } catch {
      throw error as? Failure ?? failure
    }
  }
}
