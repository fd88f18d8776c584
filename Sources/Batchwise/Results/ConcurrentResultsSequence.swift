// SPDX-License-Identifier: Apache-2.0

/// The sequence behind `concurrentResults`, of which every iterator is a run of its own.
///
/// `Failure` is the source's; what a transformation throws is an outcome.
@usableFromInline
struct ConcurrentResultsSequence<
  Input: Sendable, Output: Sendable, TransformFailure: Error, Failure: Error
>: AsyncSequence, Sendable {
  @usableFromInline typealias Element = ConcurrentResult<Output, TransformFailure>
  @usableFromInline typealias Run = ConcurrentResultsRun<Input, Output, TransformFailure, Failure>

  @usableFromInline let limits: FeedLimits
  @usableFromInline let order: ConcurrentResultsOrder
  @usableFromInline let executor: (any TaskExecutor)?
  @usableFromInline let transform: @Sendable (Input) async throws(TransformFailure) -> Output
  @usableFromInline let read: Run.Read

  @inlinable init(
    limits: FeedLimits, order: ConcurrentResultsOrder, executor: (any TaskExecutor)?,
    transform: @escaping @Sendable (Input) async throws(TransformFailure) -> Output,
    read: @escaping Run.Read
  ) {
    self.limits = limits
    self.order = order
    self.executor = executor
    self.transform = transform
    self.read = read
  }

  @inlinable func makeAsyncIterator() -> Iterator {
    Iterator(
      run: Run(limits, order: order, executor: executor, read: read, transform: transform))
  }

  @usableFromInline struct Iterator: AsyncIteratorProtocol {
    @usableFromInline let run: Run

    @inlinable init(run: Run) { self.run = run }

    @inlinable mutating func next() async throws(Failure) -> Element? {
      try await next(isolation: #isolation)
    }

    @inlinable mutating func next(
      isolation: isolated (any Actor)?
    ) async throws(Failure) -> Element? {
      try await run.next(isolation: isolation)
    }
  }
}

@available(*, unavailable)
extension ConcurrentResultsSequence.Iterator: Sendable {}
