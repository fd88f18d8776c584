// SPDX-License-Identifier: Apache-2.0

extension Sequence where Element: Sendable {
  /// Transforms elements until one transformation succeeds, with at most `limit` in flight, and
  /// returns its output.
  ///
  ///     let page = try await mirrors.concurrentFirst(limit: 2) { mirror in try await load(from: mirror) }
  ///
  /// Elements are started in source order. The first transformation *in time* that returns ends the
  /// call: no further element is started, those in flight are cancelled *and awaited*, and what they
  /// return or throw is dropped. So the sequence may be endless.
  ///
  /// **Failure.** A transformation that throws makes room for the next element. Only if all of them
  /// have thrown, the call throws, and then the failure of the *earliest element*, which does not
  /// depend on how fast each of them was. A transformation that cannot throw needs no `try`, and a
  /// named error type stays that type.
  ///
  /// **Cancellation** of the calling task is reported when the error type has room for it, also for
  /// an empty sequence. With `any Error` or `CancellationError`, no further element is started, those
  /// in flight are cancelled and awaited, and `CancellationError` is thrown unless a success came
  /// first. With any other error type the search goes on, and its elements see `Task.isCancelled`.
  ///
  /// **Isolation and backpressure** are those of `concurrentMap(limit:_:)`: the sequence is read a
  /// little ahead of what is started.
  ///
  /// - Parameters:
  ///   - limit: The most transformations in flight at once; `.max` for no limit. A limit below one
  ///     is a programming error and traps.
  ///   - transform: Called once for every element that is started, from any thread.
  /// - Returns: The output of the first transformation that succeeded, or nil if there are no
  ///   elements.
  /// - Throws: The failure of the earliest element if all have failed, or `CancellationError`.
  /// - Complexity: O(*n*) calls of `transform` at most. Uses at most `limit` child tasks, and memory
  ///   that does not depend on *n*.
  @inlinable public func concurrentFirst<Output: Sendable, Failure: Error>(
    limit: Int, _ transform: @escaping @Sendable (Element) async throws(Failure) -> Output
  ) async throws(Failure) -> Output? {
    let search = FirstSuccess(.sequence(limit: limit), transform: transform)
    await search.engine.run(self)
    return try search.outcome()
  }
}
