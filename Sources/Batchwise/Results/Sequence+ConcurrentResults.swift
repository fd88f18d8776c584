// SPDX-License-Identifier: Apache-2.0

extension Sequence where Self: Sendable, Element: Sendable {
  /// Transforms the elements and streams their outcomes, with at most `limit` in flight.
  ///
  ///     for await page in urls.concurrentResults(limit: 3, order: .completion, load) {
  ///       show(page.offset, page.result)
  ///     }
  ///
  /// An element that fails is an outcome and not the end: there is one outcome for every element,
  /// with its place in the source. Outcomes come in source order, or with `.completion` as soon as
  /// they are there.
  ///
  /// **Backpressure.** At most `limit + readAhead` elements are held, in flight or finished and not
  /// yet read. Then nothing further is started, nor read from the source, until an outcome is read.
  ///
  /// **Lifetime.** Work begins when the first outcome is asked for, and goes on between two calls
  /// of `next()` in a task that the iterator owns, with the priority and the task-local values of
  /// its first reader. Every iterator is a run of its own. When an iterator has returned nil,
  /// nothing of its run is still at work.
  ///
  /// **Cancellation** of the reading task ends the sequence: no further element is started, those
  /// in flight are cancelled and awaited, unread outcomes are dropped, and `next()` returns nil.
  /// Dropping the iterator, as `break` does, cancels the run without awaiting it.
  ///
  /// - Parameters:
  ///   - limit: The most transformations in flight at once. A limit below one is a programming
  ///     error and traps.
  ///   - order: The order in which outcomes are read.
  ///   - readAhead: How many finished outcomes may wait while `limit` transformations are in
  ///     flight; as many as `limit` by default. A negative number traps.
  ///   - transform: Called once for every element, from any thread.
  /// - Returns: A sequence of outcomes that itself never fails.
  /// - Complexity: O(1) an element, and memory for `limit + readAhead` of them.
  @inlinable public func concurrentResults<Output: Sendable, Failure: Error>(
    limit: Int, order: ConcurrentResultsOrder = .source, readAhead: Int? = nil,
    _ transform: @escaping @Sendable (Element) async throws(Failure) -> Output
  ) -> some AsyncSequence<ConcurrentResult<Output, Failure>, Never> & Sendable {
    concurrentResults(
      limit: limit, order: order, readAhead: readAhead, executor: nil, transform)
  }

  /// The same on an executor of choice, on which a test can take every step itself.
  @inlinable package func concurrentResults<Output: Sendable, Failure: Error>(
    limit: Int, order: ConcurrentResultsOrder = .source, readAhead: Int? = nil,
    executor: (any TaskExecutor)?,
    _ transform: @escaping @Sendable (Element) async throws(Failure) -> Output
  ) -> some AsyncSequence<ConcurrentResult<Output, Failure>, Never> & Sendable {
    ConcurrentResultsSequence<Element, Output, Failure, Never>(
      limits: .results(limit: limit, readAhead: readAhead), order: order, executor: executor,
      transform: transform
    ) { engine, _ in
      await engine.run(self)
    }
  }
}
