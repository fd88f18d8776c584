// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("A retry", .timeLimit(.minutes(1)))
struct RetryTests {
  private enum Failure: Error, Hashable {
    case temporary(Int)
    case permanent
    case busy(Duration)
  }

  private static let second = Backoff.constant(.seconds(1), jitter: .none)

  private func policy(
    _ attempts: Int, within budget: Duration? = nil, backoff: Backoff = second
  ) -> RetryPolicy {
    RetryPolicy(attempts: attempts, within: budget, backoff: backoff) { error in
      switch error as? Failure {
      case .busy(let hint): .retryAfter(hint)
      case .permanent: .stop
      default: .retry
      }
    }
  }

  /// Runs attempts that fail one after the other with these errors and then succeed; returns how it
  /// ended and when each attempt began.
  private func run(
    _ failures: [Failure], _ policy: RetryPolicy, budget: RetryBudget? = nil
  ) throws -> (result: Result<Int, Failure>, begins: [Duration]) {
    let clock = ManualClock()
    let begins = Watched<[Duration]>([])
    let (result, _) = try SteppingExecutor(seed: 0).run(clock: clock) {
      () async throws(Failure) -> Int in
      try await withRetry(policy, budget: budget, clock: clock) {
        (attempt: RetryAttempt) async throws(Failure) -> Int in
        begins.update { $0.append(clock.now.sinceStart) }
        #expect(attempt.number == begins.value.count)
        if attempt.number <= failures.count { throw failures[attempt.number - 1] }
        return attempt.number
      }
    }
    #expect(clock.sleeperCount == 0)
    return (result, begins.value)
  }

  @Test("tries again after a pause until an attempt succeeds, and keeps the error's type")
  func success() throws {
    let (result, begins) = try run([.temporary(1), .temporary(2)], policy(5))
    #expect(result == .success(3))
    #expect(begins == [0, 1, 2].map { .seconds($0) })
  }

  @Test("throws the last error when the attempts are used up", arguments: 1...3)
  func attempts(count: Int) throws {
    let (result, begins) = try run((1...9).map { .temporary($0) }, policy(count))
    #expect(result == .failure(.temporary(count)))
    #expect(begins.count == count)
  }

  @Test("stops at once at an error that is not worth another attempt")
  func classification() throws {
    let (result, begins) = try run([.temporary(1), .permanent, .temporary(3)], policy(9))
    #expect(result == .failure(.permanent))
    #expect(begins.count == 2)
  }

  @Test("pauses for what a server asks, and its own backoff on top")
  func hint() throws {
    let (result, begins) = try run([.busy(.seconds(30)), .busy(.seconds(-5))], policy(9))
    #expect(result == .success(3))
    #expect(begins == [0, 31, 32].map { .seconds($0) })
  }

  @Test("does not pause for an attempt that would begin after the time budget")
  func timeBudget() throws {
    let clock = ManualClock()
    let policy = policy(9, within: .seconds(5))
    let left = Watched<[Duration?]>([])
    let (result, _) = try SteppingExecutor(seed: 0).run(clock: clock) {
      try await withRetry(policy, clock: clock) { attempt in
        left.update { $0.append(attempt.timeLeft) }
        try await clock.sleep(for: .seconds(1))
        throw Failure.temporary(attempt.number)
      }
    }
    #expect(throws: Failure.temporary(3)) { try result.get() }
    #expect(left.value == [5, 3, 1].map { .seconds($0) })
    #expect(clock.now.sinceStart == .seconds(5))
    #expect(try run([.busy(.seconds(60))], policy).begins.count == 1)
  }

  @Test("retries no more than the budget pays for")
  func budget() throws {
    let budget = RetryBudget(percent: 50, reserve: 2)
    #expect(try run([.temporary(1)], policy(9), budget: budget).result == .success(2))
    #expect(try run((1...9).map { .temporary($0) }, policy(9), budget: budget).begins.count == 2)
    #expect(budget.available == 0)
    for _ in 0..<2 { #expect(try run([], policy(9), budget: budget).result == .success(1)) }
    #expect(budget.available == 1)
  }

  @Test("does not pay for a retry that the policy forbids")
  func unpaid() throws {
    let budget = RetryBudget(percent: 0, reserve: 3)
    _ = try run([.permanent], policy(9), budget: budget)
    _ = try run([.temporary(1)], policy(1), budget: budget)
    #expect(budget.available == 3)
  }

  @Test("tries nothing again when the caller is cancelled, whatever was thrown")
  func cancelledInAttempt() async {
    let tried = Watched(0)
    let gate = Gate()
    let policy = policy(9, backoff: .constant(.zero))
    let call = Task {
      try await withRetry(policy) { attempt in
        tried.update { $0 += 1 }
        await gate.pass()
        throw Failure.temporary(attempt.number)
      }
    }
    await tried.wait { $0 == 1 }
    call.cancel()
    gate.open()
    await #expect(throws: Failure.temporary(1)) { try await call.value }
    #expect(tried.value == 1)
  }

  @Test("retries a cancellation that is not the caller's")
  func foreignCancellation() async throws {
    let tried = try await withRetry(policy(3, backoff: .constant(.zero))) { attempt in
      if attempt.number < 3 { throw CancellationError() }
      return attempt.number
    }
    #expect(tried == 3)
  }

  @Test("ends a pause with the caller's cancellation, as far as the error type has room")
  func cancelledInPause() throws {
    for (isTyped, seed) in [(true, 0), (false, 1)] as [(Bool, UInt64)] {
      let clock = ManualClock()
      let policy = policy(9)
      let executor = SteppingExecutor(seed: seed)
      // Without the clock, everybody is idle during the pause.
      let (result, _) = try executor.run(cancelling: {}) { () async throws -> Void in
        if isTyped {
          try await withRetry(policy, clock: clock) { (_) async throws(Failure) in
            throw .temporary(1)
          }
        } else {
          try await withRetry(policy, clock: clock) { _ in throw Failure.temporary(1) }
        }
      }
      if isTyped {
        #expect(throws: Failure.temporary(1)) { try result.get() }
      } else {
        #expect(throws: CancellationError.self) { try result.get() }
      }
      #expect(clock.sleeperCount == 0)
    }
  }

  @Test("makes no attempt in a task that is cancelled already, if that can be told")
  func alreadyCancelled() async throws {
    let policy = policy(9)
    let failing = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await withRetry(policy) { _ in
        Issue.record("tried")
        throw Failure.permanent
      }
    }
    await #expect(throws: CancellationError.self) { try await failing.value }
    let typed = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await withRetry(policy) { _ in Task.isCancelled }
    }
    #expect(await typed.value)
  }

  @Test("spreads its pauses by the generator it is given, and the same seed gives the same pauses")
  func generator() throws {
    func begins(_ seed: UInt64) throws -> [Duration] {
      let clock = ManualClock()
      let policy = policy(6, backoff: .exponential(from: .seconds(1), cap: .seconds(60)))
      let begins = Watched<[Duration]>([])
      _ = try SteppingExecutor(seed: 0).run(clock: clock) {
        try await withRetry(policy, clock: clock, generator: SeededGenerator(seed: seed)) { _ in
          begins.update { $0.append(clock.now.sinceStart) }
          throw Failure.temporary(0)
        }
      }
      return begins.value
    }
    #expect(try begins(1) == begins(1))
    #expect(try begins(1) != begins(2))
    #expect(try begins(1).count == 6)
  }

  @Test("runs its attempts in the caller's isolation")
  @MainActor func isolation() async throws {
    var tried = 0
    try await withRetry(policy(3, backoff: .constant(.zero))) { attempt in
      MainActor.assertIsolated()
      tried += 1
      if attempt.number < 3 { throw Failure.temporary(0) }
    }
    #expect(tried == 3)
  }

  @Test("agrees on every schedule with its policy, cancelled at any step")
  func stepped() async throws {
    for seed in 0..<3_000 as Range<UInt64> {
      await Task.yield()
      var generator = SeededGenerator(seed: seed)
      let failing = Int.random(in: 0...4, using: &generator)
      let most = Int.random(in: 1...4, using: &generator)
      let step = Bool.random(using: &generator) ? Int.random(in: 0...20, using: &generator) : nil
      let policy = policy(most)
      let clock = ManualClock()
      let probe = InFlightProbe()
      let (result, _) = try SteppingExecutor(seed: seed).run(clock: clock, cancellingAfter: step) {
        try await withRetry(policy, clock: clock) { attempt in
          try await probe.body {
            await Task.yield()
            if attempt.number <= failing { throw Failure.temporary(attempt.number) }
            return attempt.number
          }
        }
      }
      #expect(clock.sleeperCount == 0, "seed \(seed)")
      #expect(probe.counts.started <= min(most, failing + 1), "seed \(seed)")
      switch result {
      case .success(let number): #expect(number == failing + 1 && number <= most, "seed \(seed)")
      case .failure(is CancellationError): #expect(step != nil, "seed \(seed)")
      case .failure(let error):
        #expect(error as? Failure == .temporary(probe.counts.started), "seed \(seed)")
        #expect(step != nil || probe.counts.started == most, "seed \(seed)")
      }
    }
  }
}

@Suite("A retry budget", .timeLimit(.minutes(1)))
struct RetryBudgetTests {
  private func pay(_ state: inout RetryBudgetState) -> Bool { state.payForRetry() }

  @Test("pays for exactly its share of the successes, after the reserve is used up")
  func share() {
    var state = RetryBudgetState(percent: 10, reserve: 5)
    for _ in 0..<5 { #expect(pay(&state) == true) }
    #expect(pay(&state) == false)
    var retries = 0
    for _ in 0..<1_000 {
      state.recordSuccess()
      if state.payForRetry() { retries += 1 }
    }
    #expect(retries == 100)
  }

  @Test("saves up no more than the reserve")
  func reserve() {
    var state = RetryBudgetState(percent: 300, reserve: 2)
    for _ in 0..<1_000 { state.recordSuccess() }
    #expect(state.available == 2)
    var huge = RetryBudgetState(percent: .max, reserve: .max)
    huge.recordSuccess()
    #expect(pay(&huge) == true)
  }

  @Test("keeps the load of an outage near what it was")
  func outage() {
    var state = RetryBudgetState(percent: 20, reserve: 10)
    for _ in 0..<1_000 { state.recordSuccess() }
    let retries = (0..<10_000).filter { _ in state.payForRetry() }.count
    #expect(retries == 10)
  }

  @Test("pays out no more than there is, to many threads at once")
  func threads() async {
    let budget = RetryBudget(percent: 100, reserve: 100)
    let paid = Watched(0)
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<100 where budget.payForRetry() { paid.update { $0 += 1 } }
        }
      }
    }
    #expect(paid.value == 100)
  }
}
