// SPDX-License-Identifier: Apache-2.0

extension AsyncSequence where Self: Sendable, Element: Sendable, Failure == Never {
  /// Transforms every element as it arrives, with at most `limit` transformations in flight.
  ///
  ///     let pages = try await urls.concurrentMap(limit: 3) { url in try await load(url) }
  ///
  /// The results are in source order, whatever the order in which they were finished, and there is
  /// one for every element: the array is never short.
  ///
  /// **Failure.** The first transformation to throw ends the call, also while the source is silent.
  /// No further element is started, the iteration of the source and all transformations in flight
  /// are cancelled *and awaited*, and the error is thrown. A transformation that cannot throw needs
  /// no `try`, and a named error type stays that type.
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
  ///   - limit: The most transformations in flight at once; `.max` for no limit. A limit below one
  ///     is a programming error and traps.
  ///   - transform: Called once for every element, from any thread.
  /// - Returns: The transformed elements, in source order.
  /// - Throws: The first failure of a transformation, or `CancellationError`.
  /// - Complexity: O(*n*) calls of `transform`. Uses at most `limit` child tasks, and one to read
  ///   the source; besides the results, memory that does not depend on *n*.
  @inlinable public func concurrentMap<Output: Sendable, TransformFailure: Error>(
    limit: Int,
    _ transform: @escaping @Sendable (Element) async throws(TransformFailure) -> Output
  ) async throws(TransformFailure) -> [Output] {
    let engine = Engine(.asyncSequence(limit: limit), outlet: .keep, body: transform)
    await engine.run(self)
    try engine.checkCompletion()
    return engine.takeOutputs()
  }
}

extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// Transforms every element of a source that can fail, with at most `limit` transformations in
  /// flight.
  ///
  /// As with a source that cannot fail; and if the source throws, that is the failure that ends the
  /// call: the transformations in flight are cancelled and awaited, and its error is thrown.
  ///
  /// - Parameters:
  ///   - limit: The most transformations in flight at once; `.max` for no limit. A limit below one
  ///     is a programming error and traps.
  ///   - transform: Called once for every element, from any thread.
  /// - Returns: The transformed elements, in source order.
  /// - Throws: The first failure of a transformation or of the source, or `CancellationError`.
  /// - Complexity: As with a source that cannot fail.
  @inlinable public func concurrentMap<Output: Sendable, TransformFailure: Error>(
    limit: Int,
    _ transform: @escaping @Sendable (Element) async throws(TransformFailure) -> Output
  ) async throws -> [Output] {
    let engine = Engine<Element, Output, any Error>(
      .asyncSequence(limit: limit), outlet: .keep, body: transform)
    await engine.run(self) { $0 }
    try engine.checkCompletion()
    return engine.takeOutputs()
  }
}
