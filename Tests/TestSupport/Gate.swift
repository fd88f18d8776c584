// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Holds whoever passes until a test opens it.
public final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var nextKey = 0
    var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]
    /// Who was cancelled before it could wait.
    var cancelled: Set<Int> = []
  }

  private let state = Mutex(State())

  /// Creates a closed gate.
  public init() {}

  /// Lets everyone pass, now and later.
  public func open() {
    let waiters = state.withLock { state in
      state.isOpen = true
      defer { state.waiters.removeAll() }
      return state.waiters.values.map { $0 }
    }
    for waiter in waiters { waiter.resume(returning: true) }
  }

  /// Waits until the gate is open, deaf to cancellation.
  public func pass() async {
    let key = newKey()
    _ = await wait(key)
  }

  /// Waits until the gate is open.
  ///
  /// - Throws: `CancellationError` if the task is cancelled first.
  public func passUnlessCancelled() async throws(CancellationError) {
    let key = newKey()
    let hasPassed = await withTaskCancellationHandler {
      await wait(key)
    } onCancel: {
      let waiter = state.withLock { state in
        let waiter = state.waiters.removeValue(forKey: key)
        if waiter == nil { state.cancelled.insert(key) }
        return waiter
      }
      waiter?.resume(returning: false)
    }
    if !hasPassed { throw CancellationError() }
  }

  private func newKey() -> Int {
    state.withLock { state in
      state.nextKey += 1
      return state.nextKey
    }
  }

  private func wait(_ key: Int) async -> Bool {
    await withCheckedContinuation { continuation in
      let answer = state.withLock { state -> Bool? in
        if state.cancelled.remove(key) != nil { return false }
        if state.isOpen { return true }
        state.waiters[key] = continuation
        return nil
      }
      if let answer { continuation.resume(returning: answer) }
    }
  }
}
