// SPDX-License-Identifier: Apache-2.0

extension AsyncSequence where Self: Sendable, Element: Sendable, Failure == Never {
  /// Transforms elements as they arrive until one transformation succeeds, with at most `limit` in
  /// flight, and returns its output.
  ///
  ///     let page = try await mirrors.concurrentFirst(limit: 2) { mirror in try await load(from: mirror) }
  ///
  /// Elements are started in source order. The first transformation *in time* that returns ends the
  /// call, also while the source is silent: no further element is started, the iteration of the
  /// source and all transformations in flight are cancelled *and awaited*, and what they return or
  /// throw is dropped. So the source may be endless.
  ///
  /// **Failure.** A transformation that throws makes room for the next element. Only if all of them
  /// have thrown, the call throws, and then the failure of the *earliest element*, which does not
  /// depend on how fast each of them was. A transformation that cannot throw needs no `try`, and a
  /// named error type stays that type.
  ///
  /// **Cancellation** of the calling task is reported when the error type has room for it, also if
  /// the source is empty. With `any Error` or `CancellationError`, no further element is started,
  /// those in flight are cancelled and awaited, and `CancellationError` is thrown unless a success
  /// came first. With any other error type the search goes on, and its elements see
  /// `Task.isCancelled`.
  ///
  /// **Backpressure** is that of `concurrentMap(limit:_:)`: the source is read a little ahead of what
  /// is started.
  ///
  /// - Parameters:
  ///   - limit: The most transformations in flight at once; `.max` for no limit. A limit below one
  ///     is a programming error and traps.
  ///   - transform: Called once for every element that is started, from any thread.
  /// - Returns: The output of the first transformation that succeeded, or nil if there are no
  ///   elements.
  /// - Throws: The failure of the earliest element if all have failed, or `CancellationError`.
  /// - Complexity: O(*n*) calls of `transform` at most. Uses at most `limit` child tasks, and one to
  ///   read the source, and memory that does not depend on *n*.
  @inlinable public func concurrentFirst<Output: Sendable, TransformFailure: Error>(
    limit: Int,
    _ transform: @escaping @Sendable (Element) async throws(TransformFailure) -> Output
  ) async throws(TransformFailure) -> Output? {
    let search = FirstSuccess(.asyncSequence(limit: limit), transform: transform)
    await search.engine.run(self)
    return try search.outcome()
  }
}

extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// Transforms elements of a source that can fail until one transformation succeeds, with at most
  /// `limit` in flight, and returns its output.
  ///
  /// As with a source that cannot fail. If the source throws, no further element is started, and
  /// those in flight may still succeed. If none does, the source's error is thrown rather than that
  /// of an element: an element that was never seen might have succeeded.
  ///
  /// - Parameters:
  ///   - limit: The most transformations in flight at once; `.max` for no limit. A limit below one
  ///     is a programming error and traps.
  ///   - transform: Called once for every element that is started, from any thread.
  /// - Returns: The output of the first transformation that succeeded, or nil if there are no
  ///   elements.
  /// - Throws: If none has succeeded, the failure of the source or of the earliest element, or
  ///   `CancellationError`.
  /// - Complexity: As with a source that cannot fail.
  @inlinable public func concurrentFirst<Output: Sendable, TransformFailure: Error>(
    limit: Int,
    _ transform: @escaping @Sendable (Element) async throws(TransformFailure) -> Output
  ) async throws -> Output? {
    let search = FirstSuccess<Element, Output, any Error>(
      .asyncSequence(limit: limit), transform: transform)
    await search.engine.run(self) { [failures = search.failures] error in
      failures.noteSource(error)
      return nil
    }
    return try search.outcome()
  }
}
