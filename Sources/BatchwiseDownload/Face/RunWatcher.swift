// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Wakes those who look at a run when it has changed.
///
/// While nobody waits, a change costs one look at a flag.
final class RunWatcher: Sendable {
  private let isWatched = Atomic<Bool>(false)
  private let waiters = Mutex<[Int: CheckedContinuation<Void, Never>]>([:])
  private let serial = Atomic<Int>(0)

  /// Takes note of a change, after it was made.
  func note() {
    guard isWatched.load(ordering: .sequentiallyConsistent) else { return }
    let woken = waiters.withLock { waiters in
      isWatched.store(false, ordering: .sequentiallyConsistent)
      return exchange(&waiters, with: [:])
    }
    for (_, waiter) in woken { waiter.resume() }
  }

  /// Waits for a change, unless there was one, or until the task is cancelled.
  ///
  /// - Parameter hasChanged: Whether there was one; asked when no later one can be missed.
  func wait(unless hasChanged: @Sendable () -> Bool) async {
    let id = serial.add(1, ordering: .relaxed).newValue
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        waiters.withLock { waiters in
          waiters[id] = continuation
          isWatched.store(true, ordering: .sequentiallyConsistent)
        }
        if hasChanged() || Task.isCancelled { wake(id) }
      }
    } onCancel: {
      wake(id)
    }
  }

  private func wake(_ id: Int) {
    waiters.withLock { $0.removeValue(forKey: id) }?.resume()
  }
}
