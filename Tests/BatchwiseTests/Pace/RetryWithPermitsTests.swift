// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("A retry with permits", .timeLimit(.minutes(1)))
struct RetryWithPermitsTests {
  private struct Outage: Error {}

  private func policy(_ attempts: Int, pause: Duration) -> RetryPolicy {
    RetryPolicy(attempts: attempts, backoff: .constant(pause, jitter: .none))
  }

  @Test("gives its permit back while it backs off, so that others run, and counts its attempts on")
  func backsOffWithoutPermit() async throws {
    for seed in 0..<500 as Range<UInt64> {
      await Task.yield()
      let clock = ManualClock()
      let limiter = ConcurrencyLimiter(limit: 1)
      let log = Watched<[String]>([])
      let policy = policy(3, pause: .seconds(5))
      let (result, _) = try SteppingExecutor(seed: seed).run(clock: clock) {
        try await withThrowingTaskGroup { group in
          group.addTask {
            try await withRetry(policy, limiter: limiter, clock: clock) { attempt in
              log.update { $0.append("A\(attempt.number) \(clock.now)") }
              if attempt.number < 3 { throw Outage() }
            }
          }
          while log.value.isEmpty { await Task.yield() }
          group.addTask {
            try await limiter.withPermit {
              log.update { $0.append("B \(clock.now)") }
              try await clock.sleep(for: .seconds(1))
            }
          }
          try await group.waitForAll()
        }
      }
      try result.get()
      #expect(
        log.value == ["A1 0.0 seconds", "B 0.0 seconds", "A2 5.0 seconds", "A3 10.0 seconds"],
        "seed \(seed)")
      #expect(limiter.status == .init(limit: 1, inFlight: 0, waiting: 0))
    }
  }

  @Test("comes back to its old place, before those who came during its pause")
  func oldPlace() async throws {
    for seed in 0..<500 as Range<UInt64> {
      await Task.yield()
      let clock = ManualClock()
      let limiter = ConcurrencyLimiter(limit: 1)
      let log = Watched<[String]>([])
      let policy = policy(2, pause: .seconds(1))
      let (result, _) = try SteppingExecutor(seed: seed).run(clock: clock) {
        try await withThrowingTaskGroup { group in
          group.addTask {
            try await withRetry(policy, limiter: limiter, clock: clock) { attempt in
              log.update { $0.append("A\(attempt.number)") }
              if attempt.number < 2 { throw Outage() }
            }
          }
          while log.value.isEmpty { await Task.yield() }
          for (index, name) in ["B", "C", "D"].enumerated() {
            group.addTask {
              try await limiter.withPermit {
                log.update { $0.append(name) }
                try await clock.sleep(for: .seconds(2))
              }
            }
            while limiter.status.inFlight + limiter.status.waiting <= index { await Task.yield() }
          }
          try await group.waitForAll()
        }
      }
      try result.get()
      // A is back while B runs, and C and D have waited since before that.
      #expect(log.value == ["A1", "B", "A2", "C", "D"], "seed \(seed)")
    }
  }

  @Test("does not fill the limit with those who only wait for an outage to end")
  func outage() throws {
    let clock = ManualClock()
    let limiter = ConcurrencyLimiter(limit: 2)
    let probe = InFlightProbe()
    let policy = policy(2, pause: .seconds(60))
    let healthy = Watched<[Duration]>([])
    _ = try SteppingExecutor(seed: 0).run(clock: clock) {
      await withTaskGroup { group in
        for _ in 0..<50 {
          group.addTask {
            try? await withRetry(policy, limiter: limiter, clock: clock) { _ in
              try await probe.body {
                try await clock.sleep(for: .milliseconds(1))
                throw Outage()
              }
            }
          }
        }
        for _ in 0..<50 {
          group.addTask {
            try? await limiter.withPermit { healthy.update { $0.append(clock.now.sinceStart) } }
          }
        }
      }
    }
    #expect(probe.counts.started == 100)
    #expect(probe.peak == 2)
    #expect(healthy.value.count == 50)
    #expect(healthy.value.allSatisfy { $0 < .seconds(1) })
  }

  @Test("begins the time of a timeout when the permit is there, not while it waits for one")
  func timeoutAfterWaiting() throws {
    let clock = ManualClock()
    let limiter = ConcurrencyLimiter(limit: 1)
    let policy = RetryPolicy(
      attempts: 1, within: .seconds(60), backoff: .constant(.zero, jitter: .none))
    let left = Watched<Duration?>(nil)
    let (result, _) = try SteppingExecutor(seed: 0).run(clock: clock) {
      try await withThrowingTaskGroup { group in
        group.addTask { try await limiter.withPermit { try await clock.sleep(for: .seconds(5)) } }
        while limiter.status.inFlight == 0 { await Task.yield() }
        group.addTask {
          try await withRetry(policy, limiter: limiter, clock: clock) { attempt in
            left.update { $0 = attempt.timeLeft }
            try await withTimeout(.seconds(1), clock: clock) {
              try await clock.sleep(for: .milliseconds(900))
            }
          }
        }
        try await group.waitForAll()
      }
    }
    try result.get()
    #expect(left.value == .seconds(55))
  }

  @Test("does not try again what was nested by mistake")
  func nested() async throws {
    let limiter = ConcurrencyLimiter(limit: 1, nesting: .fails)
    let policy = policy(9, pause: .zero)
    await #expect(throws: NestedPermitError.self) {
      try await limiter.withPermit {
        try await withRetry(policy, limiter: limiter) { _ in _ = Issue.record("begun") }
      }
    }
    let sharing = ConcurrencyLimiter(limit: 1)
    let tried = try await sharing.withPermit {
      try await withRetry(policy, limiter: sharing) { attempt in
        if attempt.number < 3 { throw Outage() }
        return attempt.number
      }
    }
    #expect(tried == 3)
  }

  @Test("lets an attempt share its permit with what it calls")
  func nestedInside() throws {
    let limiter = ConcurrencyLimiter(limit: 1)
    let policy = policy(1, pause: .zero)
    let (result, _) = try SteppingExecutor(seed: 0).run {
      try await withRetry(policy, limiter: limiter) { _ in try await limiter.withPermit { 7 } }
    }
    #expect(try result.get() == 7)
  }

  @Test("makes no attempt in a task that is cancelled already")
  func alreadyCancelled() async {
    let limiter = ConcurrencyLimiter(limit: 1)
    let policy = policy(9, pause: .zero)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await withRetry(policy, limiter: limiter) { _ in _ = Issue.record("begun") }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(limiter.status == .init(limit: 1, inFlight: 0, waiting: 0))
  }

  @Test("conserves permits on every schedule, with failures and cancellations at any step")
  func stepped() async throws {
    for seed in 0..<3_000 as Range<UInt64> {
      await Task.yield()
      var generator = SeededGenerator(seed: seed)
      let limit = Int.random(in: 1...3, using: &generator)
      let failing = (0..<5).map { _ in Int.random(in: 0...3, using: &generator) }
      let step = Bool.random(using: &generator) ? Int.random(in: 0...60, using: &generator) : nil
      let clock = ManualClock()
      let limiter = ConcurrencyLimiter(limit: limit)
      let probe = InFlightProbe()
      let policy = policy(3, pause: .seconds(1))
      let ended = Watched(0)
      _ = try SteppingExecutor(seed: seed).run(clock: clock, cancellingAfter: step) {
        await withTaskGroup { group in
          for count in failing {
            group.addTask {
              let number = try? await withRetry(policy, limiter: limiter, clock: clock) { attempt in
                try await probe.body {
                  await Task.yield()
                  if attempt.number <= count { throw Outage() }
                  return attempt.number
                }
              }
              if step == nil { #expect(number == (count < 3 ? count + 1 : nil), "seed \(seed)") }
              ended.update { $0 += 1 }
            }
          }
        }
      }
      #expect(ended.value == 5)
      #expect(probe.peak <= limit, "seed \(seed)")
      #expect(limiter.status == .init(limit: limit, inFlight: 0, waiting: 0), "seed \(seed)")
      #expect(clock.sleeperCount == 0, "seed \(seed)")
    }
  }
}
