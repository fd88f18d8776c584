// SPDX-License-Identifier: Apache-2.0

/// The sequence behind `concurrentResults`, of which every iterator is a run of its own.
///
/// `Failure` is the source's; what a transformation throws is an outcome.
struct ConcurrentResultsSequence<
  Input: Sendable, Output: Sendable, TransformFailure: Error, Failure: Error
>: AsyncSequence, Sendable {
  typealias Element = ConcurrentResult<Output, TransformFailure>
  typealias Run = ConcurrentResultsRun<Input, Output, TransformFailure, Failure>

  let limits: FeedLimits
  let order: ConcurrentResultsOrder
  let executor: (any TaskExecutor)?
  let transform: @Sendable (Input) async throws(TransformFailure) -> Output
  let read: Run.Read

  func makeAsyncIterator() -> Iterator {
    Iterator(
      run: Run(limits, order: order, executor: executor, read: read, transform: transform))
  }

  struct Iterator: AsyncIteratorProtocol {
    let run: Run

    mutating func next() async throws(Failure) -> Element? {
      try await next(isolation: #isolation)
    }

    mutating func next(
      isolation: isolated (any Actor)?
    ) async throws(Failure) -> Element? {
      try await run.next(isolation: isolation)
    }
  }
}

@available(*, unavailable)
extension ConcurrentResultsSequence.Iterator: Sendable {}
