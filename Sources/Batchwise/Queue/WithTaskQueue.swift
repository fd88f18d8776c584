// SPDX-License-Identifier: Apache-2.0

/// Gives a body a task queue, and returns when all its items are over.
///
///     try await withTaskQueue(of: Page.self, limit: 3) { queue in
///       for try await url in urls { queue.add { try await load(url) } }
///     }
///
/// When the body returns, what was added still runs, and may add more; when nothing is left, the
/// queue is finished. When the body throws, nothing more is taken in and all items are cancelled. In
/// each case the call ends when they have ended. What items fail with is theirs: their handles tell.
///
/// **Cancellation** of the caller does the same as a body that throws, and is reported when the error
/// type has room for it. With another error type the call returns what the body returned. A caller
/// that is cancelled already runs the body too, and what that adds is refused.
///
/// - Parameters:
///   - type: What the items return.
///   - limit: The most items in flight at once. A negative number traps.
///   - options: What the queue does besides keeping its limit.
///   - clock: What measures timeouts, rates and ages.
///   - body: What adds items. It runs where the caller runs.
/// - Returns: What the body returns.
/// - Throws: What the body throws, or `CancellationError`.
public func withTaskQueue<Item: Sendable, Success, Failure: Error>(
  of type: Item.Type = Item.self, limit: Int, options: TaskQueueOptions = TaskQueueOptions(),
  clock: some Clock<Duration> = ContinuousClock(),
  _ body: (TaskQueue<Item>) async throws(Failure) -> Success
) async throws(Failure) -> Success {
  let queue = TaskQueue<Item>(limit: limit, options: options, clock: clock)
  return try await withTaskQueue(queue, body)
}

/// The same with a queue that a test has made.
package func withTaskQueue<Item: Sendable, Success, Failure: Error>(
  _ queue: TaskQueue<Item>, _ body: (TaskQueue<Item>) async throws(Failure) -> Success
) async throws(Failure) -> Success {
  let storage = queue.storage
  let result: Result<Success, Failure> = await withTaskCancellationHandler {
    let result: Result<Success, Failure>
    do throws(Failure) {
      result = .success(try await body(queue))
      await storage.waitRegardless(for: .idle)
      queue.finish()
    } catch {
      result = .failure(error)
      storage.stop()
    }
    await storage.waitRegardless(for: .over)
    return result
  } onCancel: {
    storage.stop()
  }
  let success = try result.get()
  if storage.read({ state, _ in state.isStopped }), let error = CancellationError() as? Failure {
    throw error
  }
  return success
}
