// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What the workers and the reader of one run share: a lock around the outcomes, and the reader's
/// continuation.
final class ConcurrentResultsStorage<Output: Sendable, Failure: Error, SourceFailure: Error>:
  Sendable
{
  typealias Outcome = ConcurrentResult<Output, Failure>
  typealias Waiter = CheckedContinuation<Void, Never>
  typealias State = ConcurrentResultsState<Outcome, SourceFailure, Waiter>

  private let state: Mutex<State>

  init(order: ConcurrentResultsOrder) {
    state = Mutex(State(order: order))
  }

  /// Takes in the outcome of the element at `offset`.
  func insert(_ result: Result<Output, Failure>, at offset: Int) {
    tell { $0.insert(ConcurrentResult(offset: offset, result: result), at: offset) }
  }

  /// Notes that the source has failed.
  func failSource(_ failure: SourceFailure) {
    state.withLock { $0.failSource(failure) }
  }

  /// Notes that all outcomes have arrived.
  func finish() {
    tell { $0.finish() }
  }

  /// Gives up all outcomes, since nobody will read them.
  func cancel() {
    state.withLock { $0.cancel() }.reader?.resume()
  }

  /// What the reader does next.
  func next() -> State.Answer {
    state.withLock { $0.next() }
  }

  /// Suspends the reader until there is something to ask for.
  func park() async {
    await withCheckedContinuation { continuation in
      let isParked = state.withLock { $0.park(reader: continuation) }
      if !isParked { continuation.resume() }
    }
  }

  private func tell(_ event: (inout State) -> Waiter?) {
    state.withLock { event(&$0) }?.resume()
  }
}
