// SPDX-License-Identifier: Apache-2.0

extension AsyncSequence where Self: Sendable, Element: Sendable, Failure == Never {
  /// Runs a body for every element as it arrives, with at most `limit` bodies in flight.
  ///
  ///     try await uploads.concurrentForEach(limit: 4) { file in try await upload(file) }
  ///
  /// Elements are started in source order and may finish in any order. The call returns normally
  /// only if the source has ended, and the body has run, and returned, for every element.
  ///
  /// **Failure.** The first body to throw ends the call, also while the source is silent. No further
  /// element is started, the iteration of the source and all bodies in flight are cancelled *and
  /// awaited*, and the error is thrown. A body that cannot throw needs no `try`, and a named error
  /// type stays that type.
  ///
  /// **Cancellation** of the calling task is reported when the error type has room for it, also if
  /// the source is empty. With `any Error` or `CancellationError`, no further element is started,
  /// those in flight are cancelled and awaited, and `CancellationError` is thrown unless a failure
  /// came first. With any other error type the elements that the source still gives run, and see
  /// `Task.isCancelled`.
  ///
  /// **Backpressure.** The source is read in a child task of its own. An element is started at once
  /// if there is room for it. While there is none, `limit` further elements are read, or up to 128
  /// if the work is shorter than the reading; then the source has to wait.
  ///
  /// - Parameters:
  ///   - limit: The most bodies in flight at once; `.max` for no limit. A limit below one is a
  ///     programming error and traps.
  ///   - body: Called once for every element, from any thread.
  /// - Throws: The first failure of a body, or `CancellationError`.
  /// - Complexity: O(*n*) calls of `body`. Uses at most `limit` child tasks, and one to read the
  ///   source, and memory that does not depend on *n*.
  @inlinable public func concurrentForEach<BodyFailure: Error>(
    limit: Int, _ body: @escaping @Sendable (Element) async throws(BodyFailure) -> Void
  ) async throws(BodyFailure) {
    let engine = Engine(.asyncSequence(limit: limit), outlet: .discard, body: body)
    await engine.run(self)
    try engine.checkCompletion()
  }
}

extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// Runs a body for every element of a source that can fail, with at most `limit` bodies in flight.
  ///
  /// As with a source that cannot fail; and if the source throws, that is the failure that ends the
  /// call: the bodies in flight are cancelled and awaited, and its error is thrown.
  ///
  /// - Parameters:
  ///   - limit: The most bodies in flight at once; `.max` for no limit. A limit below one is a
  ///     programming error and traps.
  ///   - body: Called once for every element, from any thread.
  /// - Throws: The first failure of a body or of the source, or `CancellationError`.
  /// - Complexity: As with a source that cannot fail.
  @inlinable public func concurrentForEach<BodyFailure: Error>(
    limit: Int, _ body: @escaping @Sendable (Element) async throws(BodyFailure) -> Void
  ) async throws {
    let engine = Engine<Element, Void, any Error>(
      .asyncSequence(limit: limit), outlet: .discard, body: body)
    await engine.run(self) { $0 }
    try engine.checkCompletion()
  }
}
