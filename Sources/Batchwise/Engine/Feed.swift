// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The feed's shell: one lock around its state, and the continuations of those who wait.
///
/// Every event asks the state under the lock, and wakes whom it names after the lock is gone.
/// Appending and claiming do without the lock as long as the hints allow it. A hint is one half of a
/// handshake: who parks sets the hint and then looks at the blocks; who appends or claims moves the
/// block's number and then looks at the hint. All of it is sequentially consistent, so at least one
/// of the two sees the other.
@usableFromInline
final class Feed: Sendable {
  typealias Waiter = CheckedContinuation<Void, Never>
  typealias State = FeedState<Waiter>

  private let state: Mutex<State>
  private let canWake = Atomic<Bool>(false)
  private let canHire = Atomic<Bool>(true)
  private let roomOffset = Atomic<Int>(.max)
  private let awaitsRelease = Atomic<Bool>(false)
  /// How many outcomes were read.
  private let released = Atomic<Int>(0)

  @usableFromInline init(_ limits: FeedLimits) {
    state = Mutex(State(limits))
  }

  // MARK: The feeder

  /// Waits until there is room for at least one element; nil if nothing more is wanted.
  @usableFromInline func room() async -> Int? {
    await answer(
      { $0.askRoom(released: released.load(ordering: .sequentiallyConsistent)) },
      orPark: { $0.park(feeder: $1, released: released.load(ordering: .sequentiallyConsistent)) })
  }

  /// Adds a block behind all others.
  @usableFromInline func add(_ block: BlockNumbers) {
    _ = tell { $0.add(block) }
  }

  /// Sees to it that an element that has become ready finds a worker.
  @usableFromInline func noteReady() {
    if canWake.load(ordering: .sequentiallyConsistent)
      || canHire.load(ordering: .sequentiallyConsistent)
    {
      wakeAll { $0.summon() }
    }
  }

  /// Notes that the source has ended.
  @usableFromInline func finish() {
    wakeAll { $0.finish() }
  }

  /// How many elements have been appended.
  @usableFromInline var published: Int { state.withLock { $0.published } }

  // MARK: The workers

  /// Waits for a block to claim from; nil if nothing is left to do.
  @usableFromInline func nextBlock(isFirst: Bool) async -> BlockNumbers? {
    if isFirst { tell { $0.arrive(wasParked: false) } }
    while true {
      switch state.withLock({ $0.work }) {
      case .proceed(let block): return block
      case .over: return nil
      case .wait:
        if await park({ $0.park(worker: $1) }) { tell { $0.arrive(wasParked: true) } }
      }
    }
  }

  /// Sees to it that others hear of a claim; called before the element's body runs.
  @usableFromInline func noteClaim(_ index: Int, of block: BlockNumbers) {
    let isLast = index == block.capacity - 1
    if isLast { _ = tell { $0.dropBlock() } }
    if block.offset + index >= roomOffset.load(ordering: .sequentiallyConsistent) {
      wake { $0.noteClaim() }
    }
    // Behind the last element of a block there may be another block.
    if canWake.load(ordering: .sequentiallyConsistent), isLast || block.unclaimed > 0 {
      wakeAll { $0.summon() }
    }
  }

  /// Notes that an outcome was read.
  @usableFromInline func release() {
    released.add(1, ordering: .sequentiallyConsistent)
    guard awaitsRelease.load(ordering: .sequentiallyConsistent) else { return }
    wake { state in
      // From now on the feeder may wait for claims instead; so those are to be heard of before the
      // state looks at the blocks.
      roomOffset.store(0, ordering: .sequentiallyConsistent)
      return state.release(released: released.load(ordering: .sequentiallyConsistent))
    }
  }

  // MARK: The owner

  /// Whether the owner is to start a worker now.
  @usableFromInline func hire() -> Bool {
    guard canHire.load(ordering: .relaxed) else { return false }
    if case .proceed = tell({ $0.hire() }) { return true }
    return false
  }

  /// Waits until the owner is to start a worker; false if no more will be wanted.
  @usableFromInline func hireNext() async -> Bool {
    await answer({ $0.hire() }, orPark: { $0.park(owner: $1) }) != nil
  }

  // MARK: Endings

  /// Ends the run early; false if it had already ended early.
  func end() -> Bool {
    end { $0.end() }
  }

  /// Ends the run early unless every element has already been claimed; false if it did not.
  func endUnlessAllClaimed() -> Bool {
    end { $0.endUnlessAllClaimed() }
  }

  private func end(_ event: (inout State) -> [Waiter]?) -> Bool {
    guard let wakes = tell(event) else { return false }
    for waiter in wakes { waiter.resume() }
    return true
  }

  // MARK: Under the lock

  private func wake(_ event: (inout State) -> Waiter?) {
    tell(event)?.resume()
  }

  private func wakeAll(_ event: (inout State) -> [Waiter]) {
    for waiter in tell(event) { waiter.resume() }
  }

  private func tell<Answer: Sendable>(_ event: (inout State) -> Answer) -> Answer {
    state.withLock { state in
      defer { setHints(state.hints) }
      return event(&state)
    }
  }

  private func answer<Work: Sendable>(
    _ ask: (inout State) -> FeedAnswer<Work>, orPark park: (inout State, Waiter) -> Bool
  ) async -> Work? {
    while true {
      switch tell(ask) {
      case .proceed(let work): return work
      case .over: return nil
      case .wait: await self.park(park)
      }
    }
  }

  /// Suspends until woken, and returns true; or returns false if the state has changed meanwhile.
  ///
  /// The lock is taken anew inside the continuation's closure, and the state looks again. Before it
  /// looks, the hints make everyone who passes by come to the lock.
  @discardableResult
  private func park(_ enter: (inout State, Waiter) -> Bool) async -> Bool {
    var isParked = false
    await withCheckedContinuation { continuation in
      let entered = state.withLock { state in
        setHints(State.Hints(canWake: true, canHire: true, roomOffset: 0, awaitsRelease: true))
        defer { setHints(state.hints) }
        return enter(&state, continuation)
      }
      isParked = entered
      if !entered { continuation.resume() }
    }
    return isParked
  }

  private func setHints(_ hints: State.Hints) {
    canWake.store(hints.canWake, ordering: .sequentiallyConsistent)
    canHire.store(hints.canHire, ordering: .sequentiallyConsistent)
    roomOffset.store(hints.roomOffset, ordering: .sequentiallyConsistent)
    awaitsRelease.store(hints.awaitsRelease, ordering: .sequentiallyConsistent)
  }
}
