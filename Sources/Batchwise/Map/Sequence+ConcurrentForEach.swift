// SPDX-License-Identifier: Apache-2.0

extension Sequence where Element: Sendable {
  /// Runs a body for every element, with at most `limit` bodies in flight.
  ///
  ///     try await files.concurrentForEach(limit: 4) { file in try await upload(file) }
  ///
  /// Elements are started in source order and may finish in any order. The call returns normally
  /// only if the body has run, and returned, for every element.
  ///
  /// **Failure.** The first body to throw ends the call. No further element is started, those in
  /// flight are cancelled *and awaited*, and the error is thrown. A body that cannot throw needs no
  /// `try`, and a named error type stays that type.
  ///
  /// **Cancellation** of the calling task is reported when the error type has room for it, also for
  /// an empty sequence. With `any Error` or `CancellationError`, no further element is started, those
  /// in flight are cancelled and awaited, and `CancellationError` is thrown unless a failure came
  /// first. With any other error type the remaining elements run, and see `Task.isCancelled`.
  ///
  /// **Isolation.** The sequence is read by the calling task alone, in its isolation, and need not
  /// be Sendable. Bodies run in child tasks, several of them in one task, one after the other,
  /// with the caller's priority and task-local values.
  ///
  /// **Backpressure.** An element is started at once if there is room for it. While there is none,
  /// 64 further elements are read, or up to 1,024 if the work is shorter than the reading. An array
  /// is shared and not read.
  ///
  /// - Parameters:
  ///   - limit: The most bodies in flight at once; `.max` for no limit. A limit below one is a
  ///     programming error and traps.
  ///   - body: Called once for every element, from any thread.
  /// - Throws: The first failure of a body, or `CancellationError`.
  /// - Complexity: O(*n*) calls of `body`. Uses at most `limit` child tasks, not one for every
  ///   element, and memory that does not depend on *n*.
  @inlinable public func concurrentForEach<Failure: Error>(
    limit: Int, _ body: @escaping @Sendable (Element) async throws(Failure) -> Void
  ) async throws(Failure) {
    let engine = Engine(.sequence(limit: limit), outlet: .discard, body: body)
    await engine.run(self)
    try engine.checkCompletion()
  }
}
