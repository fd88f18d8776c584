// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A value that is there one day, for any number of readers.
///
/// Who waits and who wakes has nothing to do with the value's type, so that part is not generic.
final class Promise<Value: Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)
  private let isKept = Occurrence()

  /// Keeps the value, and lets all go on who wait for it.
  func keep(_ value: Value) {
    self.value.withLock { $0 = value }
    isKept.happen()
  }

  /// The value, if it is there.
  var now: Value? { value.withLock { $0 } }

  /// Waits for the value; nil if the reader is cancelled first.
  func wait() async -> Value? {
    await isKept.wait() ? now : nil
  }
}

/// Something that happens once, and that any number of tasks wait for.
final class Occurrence: Sendable {
  private struct State {
    var hasHappened = false
    var readers = Tickets<CheckedContinuation<Bool, Never>, Bool>()
  }

  private let state = Mutex(State())

  /// Notes that it has happened, and wakes all who wait for it.
  func happen() {
    let readers = state.withLock { state in
      state.hasHappened = true
      return state.readers.decideAll(true)
    }
    for reader in readers { reader.resume(returning: true) }
  }

  /// Waits until it has happened; false if the reader is cancelled first.
  func wait() async -> Bool {
    let ticket = state.withLock { $0.hasHappened ? nil : $0.readers.issue() }
    guard let ticket else { return true }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if let turn = state.withLock({ $0.readers.suspend(ticket, continuation) }) {
          continuation.resume(returning: turn)
        }
      }
    } onCancel: {
      state.withLock { $0.readers.decide(ticket, false) }?.resume(returning: false)
    }
  }
}
