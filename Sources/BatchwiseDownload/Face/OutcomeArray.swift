// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Gathers what all requests of a batch bring, in the order of the list; the first failure ends it.
final class OutcomeArray<Value: BatchValue>: BatchOutlet {
  private struct State {
    var values: [Value?] = []
    /// The first failure, unless the list failed before.
    var failure: DownloadFailure?
    var hasEnded = false
    /// Holds the room of all bodies, so that together they keep to the bound.
    var bodies: [HeldBody] = []
  }

  private let state = Mutex(State())
  private let onFailure: @Sendable () -> Void

  /// Makes an empty one; the closure is called for the first failure.
  init(onFailure: @escaping @Sendable () -> Void) { self.onFailure = onFailure }

  func room(besides places: Int) -> Int { .max }

  func waitForRoom() async {}

  func take(_ outcome: DownloadOutcome<Value>, _ body: HeldBody?) {
    let isFirstFailure = state.withLock { state in
      switch outcome.result {
      case .success(let value):
        let missing = outcome.offset + 1 - state.values.count
        if missing > 0 { state.values += repeatElement(nil, count: missing) }
        state.values[outcome.offset] = value
        if let body { state.bodies.append(body) }
        return false
      case .failure(let failure):
        if state.hasEnded { return false }
        state.hasEnded = true
        state.failure = failure
        return true
      }
    }
    if isFirstFailure { onFailure() }
  }

  func listFailed() {
    if state.withLock({ !exchange(&$0.hasEnded, with: true) }) { onFailure() }
  }

  /// The first failure, in the order of time.
  var failure: DownloadFailure? { state.withLock { $0.failure } }

  /// What all requests brought, when all are done.
  func values() -> [Value] {
    state.withLock { state in
      let values = state.values.compactMap { $0 }
      precondition(values.count == state.values.count, "A request is done and brought nothing")
      return values
    }
  }
}
