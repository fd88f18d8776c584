// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

extension MisbehavingOrigin {
  /// Holds an origin's answers back until a test has seen what it wanted to see.
  ///
  /// Once open, a gate stays open.
  public final class Gate: Sendable {
    private struct State {
      var isOpen = false
      var arrived = 0
      var held: [DispatchSemaphore] = []
      var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())
    private let opening: Int

    /// Makes a closed gate, which opens by itself when `opening` requests have arrived at it.
    public init(opensAt opening: Int = .max) {
      self.opening = opening
    }

    /// Opens the gate.
    public func open() {
      let held = state.withLock { state in
        state.isOpen = true
        defer { state.held = [] }
        return state.held
      }
      for thread in held { thread.signal() }
    }

    /// Suspends until so many requests have arrived here, counted from the beginning.
    public func arrivals(_ count: Int) async {
      await withCheckedContinuation { continuation in
        let isThere = state.withLock { state in
          if state.arrived < count { state.watchers.append((count, continuation)) }
          return state.arrived >= count
        }
        if isThere { continuation.resume() }
      }
    }

    /// Blocks the thread until the gate is open.
    func wait() {
      let thread = DispatchSemaphore(value: 0)
      let (mustWait, mustOpen, seen) = state.withLock { state in
        state.arrived += 1
        let arrived = state.arrived
        let seen = state.watchers.filter { $0.count <= arrived }
        state.watchers.removeAll { $0.count <= arrived }
        let mustOpen = arrived >= opening
        if !state.isOpen && !mustOpen { state.held.append(thread) }
        return (!state.isOpen && !mustOpen, mustOpen, seen.map(\.continuation))
      }
      for continuation in seen { continuation.resume() }
      if mustOpen { open() }
      if mustWait { thread.wait() }
    }
  }
}
