// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// What the workers and the reader of one run share: a lock around the outcomes, and the reader's
/// continuation.
@usableFromInline
final class ConcurrentResultsStorage<Output: Sendable, Failure: Error, SourceFailure: Error>:
  Sendable
{
  @usableFromInline typealias Outcome = ConcurrentResult<Output, Failure>
  @usableFromInline typealias Waiter = CheckedContinuation<Void, Never>
  @usableFromInline typealias State = ConcurrentResultsState<Outcome, SourceFailure, Waiter>

  @usableFromInline let state: Mutex<State>

  @inlinable init(order: ConcurrentResultsOrder) {
    state = Mutex(State(order: order))
  }

  /// Takes in the outcome of the element at `offset`.
  @inlinable func insert(_ result: Result<Output, Failure>, at offset: Int) {
    let outcome = ConcurrentResult(offset: offset, result: result)
    state.withLock { $0.insert(outcome, at: offset) }?.resume()
  }

  /// Notes that the source has failed.
  @usableFromInline func failSource(_ failure: SourceFailure) {
    state.withLock { $0.failSource(failure) }
  }

  /// Notes that all outcomes have arrived.
  func finish() {
    state.withLock { $0.finish() }?.resume()
  }

  /// Gives up all outcomes, since nobody will read them.
  func cancel() {
    state.withLock { $0.cancel() }.reader?.resume()
  }

  /// What the reader does next, and the outcomes it is to read if there are any.
  @inlinable func next(handingOverInto outcomes: inout [Outcome]) -> State.Answer {
    state.withLock { $0.next(handingOverInto: &outcomes) }
  }

  /// Suspends the reader until there is something to ask for.
  func park() async {
    await withCheckedContinuation { continuation in
      let isParked = state.withLock { $0.park(reader: continuation) }
      if !isParked { continuation.resume() }
    }
  }
}
