// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A value that one side changes and a test waits for, such as a count of what has happened.
///
///     let arrived = Watched(0)
///     server.onRequest { arrived.update { $0 += 1 } }
///     await arrived.wait { $0 == 3 }
///
/// Waiting for what is reported, instead of sleeping for a while, makes a test as fast as the code
/// under test and as steady as its result.
public final class Watched<Value: Sendable>: Sendable {
  private struct Waiter {
    let isReached: @Sendable (Value) -> Bool
    let continuation: CheckedContinuation<Bool, Never>
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
  ///
  /// They go on in the order in which they began to wait. Changes are made one after the other,
  /// under a lock: `change` must not use this object.
  ///
  /// - Parameter change: What to do with the value.
  /// - Returns: What `change` returns.
  /// - Complexity: O(*w* log *w*) for *w* waiters, besides `change`.
  @discardableResult
  public func update<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
    let (result, reached) = guarded.withLock { guarded in
      let result = change(&guarded.value)
      // In order, for a seed must lead to the same schedule in every process.
      let reached = guarded.waiters.filter { $0.value.isReached(guarded.value) }
        .sorted { $0.key < $1.key }
      for (id, _) in reached { guarded.waiters[id] = nil }
      return (result, reached.map(\.value.continuation))
    }
    for waiter in reached { waiter.resume(returning: true) }
    return result
  }

  /// Waits until the value is as wanted, or until the task is cancelled.
  ///
  /// **Cancellation.** The wait ends at once, without an error. A task that is cancelled when it
  /// comes does not wait, whatever the value.
  ///
  /// - Parameter isReached: Whether the value is as wanted. It is called under a lock, at once and
  ///   after every change, and must not use this object.
  public func wait(until isReached: @escaping @Sendable (Value) -> Bool) async {
    _ = await waitUnlessCancelled(until: isReached)
  }

  /// Waits until the value is as wanted; false if the task is cancelled first.
  func waitUnlessCancelled(until isReached: @escaping @Sendable (Value) -> Bool) async -> Bool {
    let id = guarded.withLock { guarded in
      guarded.lastWaiter += 1
      return guarded.lastWaiter
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = guarded.withLock { guarded -> Bool? in
          if Task.isCancelled { return false }
          if isReached(guarded.value) { return true }
          guarded.waiters[id] = Waiter(isReached: isReached, continuation: continuation)
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      let waiter = guarded.withLock { $0.waiters.removeValue(forKey: id) }
      waiter?.continuation.resume(returning: false)
    }
  }

  /// Waits until the value is as wanted, deaf to cancellation.
  func waitDeaf(until isReached: @escaping @Sendable (Value) -> Bool) async {
    _ = await withCheckedContinuation { continuation in
      let isThere = guarded.withLock { guarded in
        if isReached(guarded.value) { return true }
        guarded.lastWaiter += 1
        guarded.waiters[guarded.lastWaiter] = Waiter(
          isReached: isReached, continuation: continuation)
        return false
      }
      if isThere { continuation.resume(returning: true) }
    }
  }
}
