// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The feed's shell: one lock around its state, and the continuations of those who wait.
///
/// Every event goes through `tell`, which asks the state under the lock and wakes whom it names
/// after the lock is gone.
final class Feed<Element: Sendable, Output: Sendable, Failure: Error>: Sendable {
  typealias Waiter = CheckedContinuation<Void, Never>
  typealias State = FeedState<Element, Output, Failure, Waiter>

  let limits: FeedLimits
  private let state: Mutex<State>
  private let hungry = Atomic<Bool>(true)

  init(_ limits: FeedLimits, keepsOutputs: Bool) {
    self.limits = limits
    state = Mutex(State(limits, keepsOutputs: keepsOutputs))
  }

  /// Whether an element published now would find a worker at once: a hint, read without the lock.
  var isHungry: Bool { hungry.load(ordering: .relaxed) }

  // MARK: The feeder

  /// Waits until the feeder may read on; false if nothing more is wanted.
  func hasRoom() async -> Bool {
    await answer({ $0.room }, orPark: { $0.park(feeder: $1) })
  }

  /// Hands elements to the workers.
  func publish(_ elements: [Element]) {
    tell { $0.publish(elements) }
  }

  /// Notes that the source has ended.
  func finish() {
    tell { $0.finish() }
  }

  // MARK: The workers

  /// Waits for a block to claim from; nil if nothing is left to do.
  func nextBlock() async -> Block<Element, Output>? {
    while true {
      switch state.withLock({ $0.work }) {
      case .block(let block): return block
      case .over: return nil
      case .wait: await park { $0.park(worker: $1) }
      }
    }
  }

  /// Notes that the last element of the oldest block was claimed.
  func exhaustBlock() {
    tell { $0.exhaustBlock() }
  }

  /// Notes that an outcome was read.
  func release() {
    tell { $0.release(1) }
  }

  // MARK: The owner

  /// Whether the owner is to start a worker now.
  func hire() -> Bool {
    state.withLock { $0.hire() } == .proceed
  }

  /// Waits until the owner is to start a worker; false if no more are wanted.
  func hireNext() async -> Bool {
    await answer({ $0.hire() }, orPark: { $0.park(owner: $1) })
  }

  // MARK: Endings

  /// Why the run ended early, if it did.
  var ending: State.Ending? { state.withLock { $0.ending } }

  /// Takes the outputs of a run in which nothing was left undone.
  func takeOutputs() -> [Output] {
    state.withLock { $0.takeOutputs() }
  }

  /// Ends the run early for a reason that outdoes all later ones.
  func end(_ reason: State.Ending) {
    tell { $0.end(reason) }
  }

  /// Ends the run early unless every element has already been claimed.
  func endUnlessAllClaimed(_ reason: State.Ending) {
    tell { $0.endUnlessAllClaimed(reason) }
  }

  // MARK: Under the lock

  private func tell(_ event: (inout State) -> [Waiter]) {
    let wakes = state.withLock { state in
      defer { hungry.store(state.isHungry, ordering: .relaxed) }
      return event(&state)
    }
    for waiter in wakes { waiter.resume() }
  }

  private func answer(
    _ ask: (inout State) -> FeedAnswer, orPark park: (inout State, Waiter) -> Bool
  ) async -> Bool {
    while true {
      switch state.withLock({ ask(&$0) }) {
      case .proceed: return true
      case .over: return false
      case .wait: await self.park(park)
      }
    }
  }

  /// Suspends until woken. The lock is taken anew inside the continuation's closure, and the state
  /// looks again, for it may have changed since it said to wait.
  private func park(_ enter: (inout State, Waiter) -> Bool) async {
    await withCheckedContinuation { continuation in
      let isParked = state.withLock { state in
        defer { hungry.store(state.isHungry, ordering: .relaxed) }
        return enter(&state, continuation)
      }
      if !isParked { continuation.resume() }
    }
  }
}
