// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What all users of one limiter share: a lock around its state.
///
/// It notes an event under the lock and wakes whom it concerns when the lock is gone.
@usableFromInline
final class LimiterStorage: Sendable {
  typealias State = LimiterState<CheckedContinuation<LimiterTurn, Never>>

  private let state: Mutex<State>
  private let number = HeldPermit.newLimiter()

  init(limit: Int, keyLimit: Int = .max, nesting: PermitNesting) {
    precondition(limit >= 0, "a limit cannot be negative, but is \(limit)")
    precondition(keyLimit >= 0, "a limit for each key cannot be negative, but is \(keyLimit)")
    state = Mutex(
      State(State.Admission(limit: limit, keyLimit: keyLimit), nesting: nesting))
  }

  /// What becomes of a request that may wait.
  @usableFromInline
  enum Answer {
    case granted(SlabID)
    /// It has a place in the order; its task had this priority then, as a number, for the size of
    /// `TaskPriority` is known only when the program runs.
    case waits(SlabID, since: UInt8)
  }

  /// Takes a permit at once, or a place in the order, which is to be awaited with `wait`.
  ///
  /// Most calls need not wait, and are cheaper when they are not asynchronous.
  @usableFromInline
  func enterOrWait(priority: TaskPriority?, weight: Int) throws -> Answer {
    try enterOrWait(key: nil, priority: priority, weight: weight)
  }

  /// Takes a permit at once, or a place in the order; who comes back does so with its arrival.
  func enterOrWait(
    key: AdmissionKey?, priority: TaskPriority?, weight: Int, arrival: AdmissionArrival? = nil
  ) throws -> Answer {
    if Task.isCancelled { throw CancellationError() }
    let request = request(key: key, weight: weight)
    var ownPriority: UInt8 = 0
    let (answer, woken) = state.withLock { state in
      state.enterOrWait(request, inside: { HeldPermit.holds(of: number) }, arrival: arrival) {
        let own = Task.currentPriority
        ownPriority = own.rawValue
        return priority ?? own
      }
    }
    wake(woken)
    switch answer {
    case .granted(let hold): return .granted(hold)
    case .waits(let ticket): return .waits(ticket, since: ownPriority)
    case .isNested: throw NestedPermitError()
    }
  }

  /// Waits for the turn of a place in the order.
  @usableFromInline
  func wait(_ ticket: SlabID, since priority: UInt8) async throws -> SlabID {
    let turn = await withTaskCancellationHandler {
      await withEscalationHandler(since: TaskPriority(rawValue: priority)) {
        await withCheckedContinuation { continuation in
          let turn = state.withLock { $0.suspend(ticket, continuation) }
          if let turn { continuation.resume(returning: turn) }
        }
      } onEscalation: { [self] priority in
        wake(state.withLock { $0.raise(ticket, to: Int(priority.rawValue)) })
      }
    } onCancel: {
      wake(state.withLock { $0.cancel(ticket) })
    }
    guard case .granted(let hold) = turn else { throw CancellationError() }
    if Task.isCancelled {
      // Cancelled after it was granted and before anything ran on it.
      release(hold)
      throw CancellationError()
    }
    return hold
  }

  /// Takes a permit, waiting for it if need be.
  func acquire(
    key: AdmissionKey? = nil, priority: TaskPriority?, weight: Int,
    arrival: AdmissionArrival? = nil
  ) async throws -> SlabID {
    switch try enterOrWait(key: key, priority: priority, weight: weight, arrival: arrival) {
    case .granted(let hold): hold
    case .waits(let ticket, let priority): try await wait(ticket, since: priority)
    }
  }

  /// Notes that somebody has come who will take a permit, once or several times.
  func newArrival() -> AdmissionArrival { state.withLock { $0.newArrival() } }

  /// Takes a permit if that is possible at once, overtaking nobody.
  func tryAcquire(key: AdmissionKey? = nil, weight: Int) -> SlabID? {
    let request = request(key: key, weight: weight)
    let answer = state.withLock { state in
      state.enter(request, inside: { HeldPermit.holds(of: number) })
    }
    guard case .granted(let hold)? = answer else { return nil }
    return hold
  }

  /// Gives a permit back.
  @usableFromInline
  func release(_ hold: SlabID) {
    wake(state.withLock { $0.leave(hold) })
  }

  /// The mark for the body that runs on a permit.
  @usableFromInline
  func mark(_ hold: SlabID) -> HeldPermit { HeldPermit(hold, of: number) }

  /// Changes the rule, and starts those who now may.
  func changeRule(_ change: @Sendable (inout State.Admission) -> Void) {
    wake(state.withLock { $0.changeRule(change) })
  }

  /// Looks at the rule.
  func read<Result: Sendable>(_ look: @Sendable (State.Admission) -> Result) -> Result {
    state.withLock { look($0.rule) }
  }

  /// Whether nobody holds and nobody waits, and nothing is left of those who did.
  var isQuiet: Bool { state.withLock { $0.isQuiet } }

  private func request(key: AdmissionKey?, weight: Int) -> AdmissionRequest {
    precondition(weight >= 1, "a weight must be at least 1, but is \(weight)")
    return AdmissionRequest(weight: weight, key: key)
  }

  @inline(__always)
  private func wake(_ woken: [State.Woken]) {
    if woken.isEmpty { return }
    for (continuation, turn) in woken { continuation.resume(returning: turn) }
  }
}
