// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A flag that one task waits for; raising it while nobody waits is remembered, once.
final class Signal: Sendable {
  private enum State {
    /// Nobody waits. Exits: raised, parked.
    case idle
    /// Raised while nobody waited. Exits: idle, by the next wait.
    case raised
    /// A task waits. Exits: idle, by being raised.
    case parked(CheckedContinuation<Void, Never>)
  }

  private let state = Mutex(State.idle)

  /// Lets the waiting task go on, or the next one that waits.
  func raise() {
    let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
      if case .parked(let continuation) = state {
        state = .idle
        return continuation
      }
      state = .raised
      return nil
    }
    waiting?.resume()
  }

  /// Waits until the flag is raised.
  func wait() async {
    await withCheckedContinuation { continuation in
      let isRaised = state.withLock { state in
        if case .raised = state {
          state = .idle
          return true
        }
        state = .parked(continuation)
        return false
      }
      if isRaised { continuation.resume() }
    }
  }

  /// Waits until the flag is raised or the task is cancelled.
  func waitUnlessCancelled() async {
    await withTaskCancellationHandler {
      await wait()
    } onCancel: {
      raise()
    }
  }
}
