// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A value that tests change and wait for, such as a count of what has happened.
public final class Watched<Value: Sendable>: Sendable {
  private struct Waiter {
    let isReached: @Sendable (Value) -> Bool
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct Guarded {
    var value: Value
    var waiters: [Int: Waiter] = [:]
    var lastWaiter = 0
  }

  private let guarded: Mutex<Guarded>

  /// Begins with a value.
  public init(_ value: Value) { guarded = Mutex(Guarded(value: value)) }

  /// The value now.
  public var value: Value { guarded.withLock { $0.value } }

  /// Changes the value, and lets those go on who waited for what it has become.
  @discardableResult
  public func update<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
    let (result, reached) = guarded.withLock { guarded in
      let result = change(&guarded.value)
      let reached = guarded.waiters.filter { $0.value.isReached(guarded.value) }
      for id in reached.keys { guarded.waiters[id] = nil }
      return (result, reached.values.map(\.continuation))
    }
    reached.forEach { $0.resume() }
    return result
  }

  /// Waits until the value is as wanted, or until the task is cancelled.
  public func wait(until isReached: @escaping @Sendable (Value) -> Bool) async {
    let id = guarded.withLock { guarded in
      guarded.lastWaiter += 1
      return guarded.lastWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let goesOn = guarded.withLock { guarded in
          if Task.isCancelled || isReached(guarded.value) { return true }
          guarded.waiters[id] = Waiter(isReached: isReached, continuation: continuation)
          return false
        }
        if goesOn { continuation.resume() }
      }
    } onCancel: {
      guarded.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume()
    }
  }
}
