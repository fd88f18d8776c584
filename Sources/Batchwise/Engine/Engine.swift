// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Runs a body for every element of a source, with at most `limit` bodies in flight.
///
/// All verbs are faces of this one engine. Its workers pull: a worker is a child task that claims
/// one element after the other, so an element costs a claim and not a task. Everything that `run`
/// starts is over when it returns.
///
/// What runs once for every element is inlinable, and nothing else. Clients specialise it; without
/// that an element spends most of its time in look-ups of generic metadata.
@usableFromInline
final class Engine<Element: Sendable, Output: Sendable, Failure: Error>: Sendable {
  @usableFromInline typealias Body = @Sendable (Element) async throws(Failure) -> Output

  /// What becomes of an output.
  @usableFromInline enum Outlet: Sendable {
    /// Forget it.
    case discard
    /// Keep it until the end.
    case keep
    /// Hand it over, with its element's offset, to what every worker makes for itself.
    case sink(@Sendable () -> (Int, Output) -> Void)
  }

  /// What the cancellation of the calling task does.
  @usableFromInline enum Cancellation: Sendable {
    /// The remaining elements run.
    case ignored
    /// Nothing further starts, and nobody wants to be told why.
    case stops
    /// Nothing further starts, and this is thrown.
    case fails(Failure)

    /// Reports a cancellation if the error type has room for it.
    @usableFromInline static var reported: Cancellation {
      (CancellationError() as? Failure).map { .fails($0) } ?? .ignored
    }
  }

  /// Ends a worker, and with it the group; the reason is kept in `failure`.
  @usableFromInline struct Stop: Error {
    @usableFromInline init() {}
  }

  @usableFromInline let feed: Feed
  @usableFromInline let body: Body
  @usableFromInline let outlet: Outlet
  @usableFromInline let blockSize: ClosedRange<Int>
  /// Whether nothing bounds how far the source may be read ahead of its outcomes.
  @usableFromInline let isUnbounded: Bool
  private let cancellation: Cancellation
  private let chunks = Mutex<[OutputChunk<Output>]>([])
  private let failure = Mutex<Failure?>(nil)

  @usableFromInline init(
    _ limits: FeedLimits, outlet: Outlet, cancellation: Cancellation = .reported,
    body: @escaping Body
  ) {
    feed = Feed(limits)
    blockSize = limits.blockSize
    isUnbounded = limits.window == .max
    self.body = body
    self.outlet = outlet
    self.cancellation = cancellation
  }

  /// Returns normally if and only if nothing was left undone.
  @usableFromInline func checkCompletion() throws(Failure) {
    if let failure = failure.withLock({ $0 }) { throw failure }
  }

  /// Takes the outputs of a run in which nothing was left undone, in source order.
  @inlinable func takeOutputs() -> [Output] {
    OutputChunk.gather(keptChunks, count: feed.published)
  }

  // MARK: Blocks

  /// A block that shares an array.
  @inlinable func makeBlock(sharing array: [Element]) -> Block<Element, Output> {
    Block(array, outputs: makeOutputs(array.count))
  }

  /// The first block to be filled.
  @inlinable func makeBlock() -> Block<Element, Output> {
    makeBlock(at: 0, capacity: blockSize.lowerBound)
  }

  /// The block to be filled next, twice as large as the one before: a long list shall not ask for
  /// memory at every turn, nor a short one for much.
  @inlinable func makeBlock(after block: Block<Element, Output>) -> Block<Element, Output> {
    makeBlock(
      at: block.offset + block.capacity, capacity: min(block.capacity * 2, blockSize.upperBound))
  }

  @inlinable func makeBlock(at offset: Int, capacity: Int) -> Block<Element, Output> {
    Block(offset: offset, capacity: capacity, outputs: makeOutputs(capacity))
  }

  @inlinable func makeOutputs(_ capacity: Int) -> OutputChunk<Output>? {
    guard case .keep = outlet else { return nil }
    let chunk = OutputChunk<Output>(capacity: capacity)
    keep(chunk)
    return chunk
  }

  @usableFromInline func keep(_ chunk: OutputChunk<Output>) {
    chunks.withLock { $0.append(chunk) }
  }

  @usableFromInline var keptChunks: [OutputChunk<Output>] { chunks.withLock { $0 } }

  // MARK: Workers

  /// Claims and runs elements until nothing is left to do.
  @inlinable func work() async throws(Stop) {
    let sink: ((Int, Output) -> Void)?
    if case .sink(let makeSink) = outlet { sink = makeSink() } else { sink = nil }
    var isFirst = true
    while let numbers = await feed.nextBlock(isFirst: isFirst) {
      isFirst = false
      // Every block of this engine was made above.
      let block = unsafeDowncast(numbers, to: Block<Element, Output>.self)
      while let index = block.claim() {
        feed.noteClaim(index, of: block)
        let output: Output
        do {
          output = try await body(block.take(index))
        } catch {
          fail(error)
          throw Stop()
        }
        switch outlet {
        case .discard: break
        case .keep: block.store(output, at: index)
        case .sink: sink?(block.offset + index, output)
        }
      }
    }
  }

  // MARK: Endings

  /// Ends the run because an element, or the source, failed.
  ///
  /// A task of this run is cancelled by the caller's cancellation, or by the group after an earlier
  /// failure, which is then already noted. So an error that is thrown under cancellation never
  /// hides what caused it.
  @usableFromInline func fail(_ error: Failure) {
    let isEnded = feed.end()
    guard isEnded else { return }
    if Task.isCancelled, case .fails(let cancellation) = cancellation {
      failure.withLock { $0 = cancellation }
    } else {
      failure.withLock { $0 = error }
    }
  }

  /// Notes that the source has ended, unless it only gave up because it was cancelled.
  @usableFromInline func finish() {
    if Task.isCancelled { cancel() }
    feed.finish()
  }

  /// Reacts to the cancellation of the calling task.
  @usableFromInline func cancel() {
    switch cancellation {
    case .ignored: break
    case .stops: _ = feed.endUnlessAllClaimed()
    case .fails(let cancellation):
      if feed.endUnlessAllClaimed() { failure.withLock { $0 = cancellation } }
    }
  }
}
