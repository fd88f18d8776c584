// SPDX-License-Identifier: Apache-2.0

extension Sequence where Element: Sendable {
  /// Transforms every element, with at most `limit` transformations in flight.
  ///
  ///     let pages = try await urls.concurrentMap(limit: 3) { url in try await load(url) }
  ///
  /// The results are in source order, whatever the order in which they were finished, and there is
  /// one for every element: the array is never short.
  ///
  /// **Failure.** The first transformation to throw ends the call. No further element is started,
  /// those in flight are cancelled *and awaited*, and the error is thrown. A transformation that
  /// cannot throw needs no `try`, and a named error type stays that type.
  ///
  /// **Cancellation** of the calling task is reported when the error type has room for it, also for
  /// an empty sequence. With `any Error` or `CancellationError`, no further element is started, those
  /// in flight are cancelled and awaited, and `CancellationError` is thrown unless a failure came
  /// first. With any other error type the remaining elements run, and see `Task.isCancelled`.
  ///
  /// **Isolation.** The sequence is read by the calling task alone, in its isolation, and need not
  /// be Sendable. Transformations run in child tasks, several of them in one task, one after the other,
  /// with the caller's priority and task-local values.
  ///
  /// **Backpressure.** An element is started at once if there is room for it. While there is none,
  /// 64 further elements are read, or up to 1,024 if the work is shorter than the reading. An array
  /// is shared and not read.
  ///
  /// - Parameters:
  ///   - limit: The most transformations in flight at once; `.max` for no limit. A limit below one
  ///     is a programming error and traps.
  ///   - transform: Called once for every element, from any thread.
  /// - Returns: The transformed elements, in source order.
  /// - Throws: The first failure of a transformation, or `CancellationError`.
  /// - Complexity: O(*n*) calls of `transform`. Uses at most `limit` child tasks, not one for every
  ///   element, and besides the results memory that does not depend on *n*.
  @inlinable public func concurrentMap<Output: Sendable, Failure: Error>(
    limit: Int, _ transform: @escaping @Sendable (Element) async throws(Failure) -> Output
  ) async throws(Failure) -> [Output] {
    let engine = Engine(.sequence(limit: limit), outlet: .keep, body: transform)
    await engine.run(self)
    try engine.checkCompletion()
    return engine.takeOutputs()
  }
}
