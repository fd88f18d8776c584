// SPDX-License-Identifier: Apache-2.0

extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// Transforms the elements as they arrive and streams the outcomes, with at most `limit` in
  /// flight.
  ///
  ///     for try await page in lines.concurrentResults(limit: 3, order: .completion, load) {
  ///       show(page.offset, page.result)
  ///     }
  ///
  /// An element that fails is an outcome and not the end: there is one outcome for every element,
  /// with its place in the source. Outcomes come in source order, or with `.completion` as soon as
  /// they are there. If the source itself fails, the outcomes of all elements it gave before are
  /// still read; then its error is thrown, and the sequence is over.
  ///
  /// **Backpressure.** At most `limit + readAhead` elements are held, in flight or finished and not
  /// yet read. Then nothing further is started, nor read from the source, until an outcome is read.
  ///
  /// **Lifetime.** Work begins when the first outcome is asked for, and goes on between two calls
  /// of `next()` in a task that the iterator owns, with the priority and the task-local values of
  /// its first reader. Every iterator is a run of its own. When an iterator has returned nil,
  /// nothing of its run is still at work.
  ///
  /// **Cancellation** of the reading task ends the sequence: the iteration of the source and the
  /// elements in flight are cancelled and awaited, unread outcomes are dropped, and `next()`
  /// returns nil. Dropping the iterator, as `break` does, cancels the run without awaiting it.
  ///
  /// - Parameters:
  ///   - limit: The most transformations in flight at once. A limit below one is a programming
  ///     error and traps.
  ///   - order: The order in which outcomes are read.
  ///   - readAhead: How many finished outcomes may wait while `limit` transformations are in
  ///     flight; as many as `limit` by default. A negative number traps.
  ///   - transform: Called once for every element, from any thread.
  /// - Returns: A sequence of outcomes that fails only if the source does.
  /// - Complexity: O(1) an element, and memory for `limit + readAhead` of them.
  @inlinable public func concurrentResults<Output: Sendable, TransformFailure: Error>(
    limit: Int, order: ConcurrentResultsOrder = .source, readAhead: Int? = nil,
    _ transform: @escaping @Sendable (Element) async throws(TransformFailure) -> Output
  ) -> some AsyncSequence<ConcurrentResult<Output, TransformFailure>, Failure> & Sendable {
    concurrentResults(
      limit: limit, order: order, readAhead: readAhead, executor: nil, transform)
  }

  /// The same on an executor of choice, on which a test can take every step itself.
  @inlinable package func concurrentResults<Output: Sendable, TransformFailure: Error>(
    limit: Int, order: ConcurrentResultsOrder = .source, readAhead: Int? = nil,
    executor: (any TaskExecutor)?,
    _ transform: @escaping @Sendable (Element) async throws(TransformFailure) -> Output
  ) -> some AsyncSequence<ConcurrentResult<Output, TransformFailure>, Failure> & Sendable {
    ConcurrentResultsSequence<Element, Output, TransformFailure, Failure>(
      limits: .results(limit: limit, readAhead: readAhead), order: order, executor: executor,
      transform: transform
    ) { engine, storage in
      await engine.run(self) { error in
        storage.failSource(error)
        return nil
      }
    }
  }
}
