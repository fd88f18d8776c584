// SPDX-License-Identifier: Apache-2.0

/// Runs work that has to end within a length of time, and cancels it when that has passed.
///
///     let page = try await withTimeout(.seconds(5)) { try await load(url) }
///
/// What comes first counts: the end of the work, the deadline, or the cancellation of the calling
/// task.
///
/// **At the deadline** the work is cancelled *and awaited*, and then `TimeoutError` is thrown,
/// whatever the work made of its cancellation: even if it returned in spite of it, for then nobody
/// knows how much of it was done. What else it threw is the error's `cause`. So the call may last
/// longer than the timeout, as long as the work ignores its cancellation; but nothing goes on
/// behind its back, and a permit that is held around the call is held as long as the work runs.
///
/// **Cancellation** of the calling task cancels the work and takes the deadline away; how the work
/// ends is how the call ends. A task that is cancelled already does not begin the work.
///
/// A timeout that is not positive does not begin the work either. Timeouts can be nested; the
/// earliest deadline counts.
///
/// - Parameters:
///   - timeout: How long the work may take, counted from the call.
///   - clock: What the time is measured by.
///   - body: The work. It runs in a child task, with the caller's priority and task-local values.
/// - Returns: What the work returns, if it does so before the deadline.
/// - Throws: `TimeoutError` when the deadline came first, `CancellationError` if the calling task
///   is cancelled when it comes, and otherwise what the work throws.
/// - Complexity: One child task, and O(log *n*) for *n* deadlines that are set. All timeouts by the
///   continuous clock share one sleep.
public func withTimeout<Success: Sendable>(
  _ timeout: Duration, clock: some Clock<Duration> = ContinuousClock(),
  _ body: @escaping @Sendable () async throws -> Success
) async throws -> Success {
  try Task.checkCancellation()
  return try await run(body, within: timeout, by: Alarm.shared(for: clock)).get()
}

/// Runs work that cannot fail and has to end within a length of time.
///
///     let sum = try await withTimeout(.seconds(5)) { await count(files) }
///
/// As the variant for work that can fail, with one difference: there is no room for a
/// `CancellationError`. In a task that is cancelled the work runs without a deadline, and sees
/// `Task.isCancelled`.
///
/// - Parameters:
///   - timeout: How long the work may take, counted from the call.
///   - clock: What the time is measured by.
///   - body: The work. It runs in a child task, with the caller's priority and task-local values.
/// - Returns: What the work returns, if it does so before the deadline.
/// - Throws: `TimeoutError` when the deadline came first.
/// - Complexity: One child task, and O(log *n*) for *n* deadlines that are set. All timeouts by the
///   continuous clock share one sleep.
public func withTimeout<Success: Sendable>(
  _ timeout: Duration, clock: some Clock<Duration> = ContinuousClock(),
  _ body: @escaping @Sendable () async -> Success
) async throws(TimeoutError) -> Success {
  try await run(body, within: timeout, by: Alarm.shared(for: clock)).get()
}

/// What can happen to work with a timeout; only the first counts.
private enum Event {
  case end, deadline, cancellation
}

/// Runs the body in a child task, for only a task can be cancelled.
///
/// The calling task waits for the first event beside it, and then for the end of the body.
private func run<Success: Sendable, Failure: Error>(
  _ body: @escaping @Sendable () async throws(Failure) -> Success,
  within timeout: Duration, by alarm: Alarm
) async throws(TimeoutError) -> Result<Success, Failure> {
  guard timeout > .zero else { throw TimeoutError(timeout: timeout) }
  let event = OneShot<Event>()
  let ending = OneShot<Result<Success, Failure>>()
  let deadline = alarm.set(at: alarm.now + min(timeout, .century)) { event.give(.deadline) }
  await withTaskCancellationHandler {
    await withDiscardingTaskGroup { group in
      group.addTask {
        do throws(Failure) {
          ending.give(.success(try await body()))
        } catch {
          ending.give(.failure(error))
        }
        event.give(.end)
      }
      if case .deadline = await event.value { group.cancelAll() }
    }
  } onCancel: {
    event.give(.cancellation)
  }
  alarm.cancel(deadline)
  let result = await ending.value
  guard case .deadline = await event.value else { return result }
  var cause: (any Error)?
  if case .failure(let error) = result, !(error is CancellationError) { cause = error }
  throw TimeoutError(timeout: timeout, cause: cause)
}
