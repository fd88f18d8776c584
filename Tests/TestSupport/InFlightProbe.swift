// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Counts how many bodies are in flight, and remembers the most there ever were.
///
/// A test compares the peak with `==`: a bound that is merely kept may also be kept by running one
/// at a time.
public final class InFlightProbe: Sendable {
  /// What was counted, at one moment.
  public struct Counts: Sendable, Equatable {
    /// How many bodies have started.
    public var started = 0
    /// How many have ended, whichever way.
    public var ended = 0
    /// The most that were in flight at once.
    public var peak = 0

    /// How many have started and not ended.
    public var inFlight: Int { started - ended }
  }

  private struct State {
    var counts = Counts()
    var waiters: [(started: Int, waiter: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Mutex(State())

  /// Creates a probe that has counted nothing.
  public init() {}

  /// What was counted so far.
  public var counts: Counts { state.withLock { $0.counts } }

  /// The most bodies that were in flight at once.
  public var peak: Int { counts.peak }

  /// Counts a body from its start to its end, whichever way it ends.
  public func body<Success, Failure: Error>(
    _ body: () async throws(Failure) -> Success
  ) async throws(Failure) -> Success {
    start()
    defer { end() }
    return try await body()
  }

  /// Waits until this many bodies have started, in all.
  public func waitUntilStarted(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.counts.started >= count { return true }
        state.waiters.append((count, continuation))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  private func start() {
    let ready = state.withLock { state in
      state.counts.started += 1
      state.counts.peak = max(state.counts.peak, state.counts.inFlight)
      let started = state.counts.started
      let ready = state.waiters.filter { $0.started <= started }
      state.waiters.removeAll { $0.started <= started }
      return ready
    }
    for (_, waiter) in ready { waiter.resume() }
  }

  private func end() {
    state.withLock { $0.counts.ended += 1 }
  }
}
