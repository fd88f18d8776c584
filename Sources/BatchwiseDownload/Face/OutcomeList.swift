// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Gathers the outcomes of all requests of a batch, in the order of the list; failures end nothing.
final class OutcomeList<Value: BatchValue>: BatchOutlet {
  private struct State {
    var outcomes: [DownloadOutcome<Value>?]
    /// Holds the room of all bodies, so that together they keep to the bound.
    var bodies: [HeldBody] = []
  }

  private let state: Mutex<State>

  /// Makes one for so many requests.
  init(count: Int) { state = Mutex(State(outcomes: Array(repeating: nil, count: count))) }

  func room(besides places: Int) -> Int { .max }

  func waitForRoom() async {}

  func listFailed() {}

  func take(_ outcome: DownloadOutcome<Value>, _ body: HeldBody?) {
    state.withLock { state in
      state.outcomes[outcome.offset] = outcome
      if let body { state.bodies.append(body) }
    }
  }

  /// What has come of each request, in the order of the list; nil for those that have no outcome.
  var outcomes: [DownloadOutcome<Value>?] { state.withLock { $0.outcomes } }
}
