// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A value that is there one day, for any number of readers.
final class Promise<Value: Sendable>: Sendable {
  private struct State {
    var value: Value?
    var readers = Tickets<CheckedContinuation<Value?, Never>, Value?>()
  }

  private let state = Mutex(State())

  /// Keeps the value, and gives it to all who wait for it.
  func keep(_ value: Value) {
    let readers = state.withLock { state in
      state.value = value
      return state.readers.decideAll(value)
    }
    for reader in readers { reader.resume(returning: value) }
  }

  /// Waits for the value; nil if the reader is cancelled first.
  func wait() async -> Value? {
    let (value, ticket) = state.withLock { state in
      (state.value, state.value == nil ? state.readers.issue() : nil)
    }
    guard let ticket else { return value }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if let turn = state.withLock({ $0.readers.suspend(ticket, continuation) }) {
          continuation.resume(returning: turn)
        }
      }
    } onCancel: {
      state.withLock { $0.readers.decide(ticket, nil) }?.resume(returning: nil)
    }
  }
}
