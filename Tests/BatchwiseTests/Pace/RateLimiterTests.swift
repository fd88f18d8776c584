// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("A rate limiter", .timeLimit(.minutes(1)))
struct RateLimiterTests {
  @Test("lets tasks through in the order in which they came, each as early as it may")
  func order() throws {
    let clock = ManualClock()
    let limiter = RateLimiter(.tokenBucket(1, per: .seconds(1), burst: 2), clock: clock)
    let log = Watched<[(Int, Duration)]>([])
    _ = try SteppingExecutor(seed: 0).run(clock: clock) {
      try await withThrowingTaskGroup { group in
        for number in 0..<5 {
          group.addTask {
            try await limiter.acquire()
            log.update { $0.append((number, clock.now.sinceStart)) }
          }
          while limiter.status.waiting + log.value.count <= number { await Task.yield() }
        }
        try await group.waitForAll()
      }
    }
    #expect(log.value.map(\.1) == [0, 0, 1, 2, 3].map { .seconds($0) })
    #expect(log.value.map(\.0) == [0, 1, 2, 3, 4])
  }

  @Test("moves those behind up by what a cancelled waiter would have taken, and conserves tokens")
  func cancelledWaiter() async throws {
    let clock = ManualClock()
    let limiter = RateLimiter(.tokenBucket(1, per: .seconds(1)), clock: clock)
    let log = Watched<[(number: Int, at: Duration)]>([])
    try await limiter.acquire()
    var tasks: [Task<Void, any Error>] = []
    for number in 1...5 {
      tasks.append(
        Task {
          try await limiter.acquire()
          log.update { $0.append((number, clock.now.sinceStart)) }
        })
      while limiter.status.waiting < number { await Task.yield() }
    }
    tasks[1].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[1].value }
    for second in 1...4 {
      await clock.waitForSleepers(1)
      clock.advance(by: .seconds(1))
      await log.wait { $0.count == second }
    }
    #expect(log.value.map(\.number) == [1, 3, 4, 5])
    #expect(log.value.map(\.at) == (1...4).map { .seconds($0) })
    #expect(!limiter.tryAcquire())
    clock.advance(by: .seconds(1))
    #expect(limiter.tryAcquire())
  }

  @Test("lets nobody overtake, not even those who need less")
  func noOvertaking() async throws {
    let clock = ManualClock()
    let limiter = RateLimiter(.slidingWindow(3, per: .seconds(1)), clock: clock)
    #expect(limiter.tryAcquire(tokens: 2))
    let large = Task { try await limiter.acquire(tokens: 3) }
    await clock.waitForSleepers(1)
    #expect(
      limiter.status == .init(limit: .slidingWindow(3, per: .seconds(1)), available: 1, waiting: 1))
    #expect(!limiter.tryAcquire())
    large.cancel()
    await #expect(throws: CancellationError.self) { try await large.value }
    #expect(limiter.tryAcquire())
  }

  @Test("lets those behind go at once when a cancelled waiter needed more than they")
  func unblocked() async throws {
    let clock = ManualClock()
    let limiter = RateLimiter(.slidingWindow(3, per: .seconds(1)), clock: clock)
    #expect(limiter.tryAcquire())
    let large = Task { try await limiter.acquire(tokens: 3) }
    while limiter.status.waiting < 1 { await Task.yield() }
    let small = Task { try await limiter.acquire(tokens: 2) }
    while limiter.status.waiting < 2 { await Task.yield() }
    large.cancel()
    try await small.value
    #expect(clock.now.sinceStart == .zero)
  }

  @Test("goes on when the limit is changed while tasks wait, and lets go those it has room for")
  func changedLimit() throws {
    for seed in 0..<200 as Range<UInt64> {
      let clock = ManualClock()
      let limiter = RateLimiter(.tokenBucket(1, per: .seconds(10)), clock: clock)
      let passed = Watched<[Duration]>([])
      _ = try SteppingExecutor(seed: seed).run(clock: clock) {
        try await withThrowingTaskGroup { group in
          try await limiter.acquire()
          for _ in 0..<3 {
            group.addTask {
              try await limiter.acquire()
              passed.update { $0.append(clock.now.sinceStart) }
            }
          }
          while limiter.status.waiting < 3 { await Task.yield() }
          limiter.setLimit(.tokenBucket(1, per: .seconds(10)))
          #expect(limiter.status.waiting == 3)
          limiter.setLimit(.tokenBucket(1, per: .seconds(10), burst: 2))
          #expect(limiter.status.waiting == 2)
          limiter.setLimit(.tokenBucket(1, per: .seconds(1), burst: 2))
          #expect(limiter.status.waiting == 2)
          try await group.waitForAll()
        }
      }
      #expect(passed.value == [.zero, .seconds(1), .seconds(2)], "seed \(seed)")
    }
  }

  @Test("throws for a task that is cancelled already, and takes nothing")
  func alreadyCancelled() async {
    let limiter = RateLimiter(.slidingWindow(1, per: .seconds(1)))
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await limiter.acquire()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(limiter.status.available == 1)
  }

  @Test("keeps the cap over every window on every schedule, and loses nobody, with cancellations")
  func stepped() async throws {
    for seed in 0..<3_000 as Range<UInt64> {
      await Task.yield()
      var generator = SeededGenerator(seed: seed)
      let cap = Int.random(in: 1...3, using: &generator)
      let count = Int.random(in: 1...7, using: &generator)
      let doomed = Set((0..<count).filter { _ in Int.random(in: 0..<4, using: &generator) == 0 })
      let clock = ManualClock()
      let limiter = RateLimiter(.slidingWindow(cap, per: .seconds(1)), clock: clock)
      let starts = Watched<[Duration]>([])
      let refused = Watched(0)
      _ = try SteppingExecutor(seed: seed).run(clock: clock) {
        await withTaskGroup { group in
          for number in 0..<count {
            group.addTask {
              await withTaskGroup { inner in
                inner.addTask {
                  do {
                    try await limiter.acquire()
                    starts.update { $0.append(clock.now.sinceStart) }
                  } catch {
                    refused.update { $0 += 1 }
                  }
                }
                if doomed.contains(number) {
                  await Task.yield()
                  inner.cancelAll()
                }
              }
            }
          }
        }
      }
      let begun = starts.value
      #expect(begun.count + refused.value == count, "seed \(seed)")
      #expect(refused.value <= doomed.count, "seed \(seed)")
      for index in begun.indices.dropFirst(cap) {
        #expect(begun[index] >= begun[index - cap] + .seconds(1), "seed \(seed)")
      }
      // Nobody waits longer than the window makes necessary.
      #expect(clock.now.sinceStart == .seconds((max(begun.count, 1) - 1) / cap), "seed \(seed)")
      #expect(limiter.status.waiting == 0)
    }
  }

  @Test("cancels many waiters in time that grows with their number")
  func manyWaiters() async {
    let clock = ManualClock()
    let limiter = RateLimiter(.tokenBucket(1, per: .seconds(1)), clock: clock)
    #expect(limiter.tryAcquire())
    await withTaskGroup { group in
      for _ in 0..<20_000 { group.addTask { try? await limiter.acquire() } }
      while limiter.status.waiting < 20_000 { await Task.yield() }
      group.cancelAll()
    }
    #expect(limiter.status.waiting == 0)
    // At most the one sleep that was needed for the first of them.
    #expect(clock.sleeperCount <= 1)
  }

  @Test("takes as long by the real clock as the cap demands, with many threads")
  func real() async throws {
    let begin = ContinuousClock.now
    let limiter = RateLimiter(.slidingWindow(20, per: .milliseconds(20)))
    try await withThrowingTaskGroup { group in
      for _ in 0..<4 {
        group.addTask { for _ in 0..<25 { try await limiter.acquire() } }
      }
      try await group.waitForAll()
    }
    // The hundredth starts in the fifth window.
    #expect(ContinuousClock.now - begin >= .milliseconds(80))
    #expect(limiter.status.waiting == 0)
  }

  @Test("refuses more tokens than can ever be there")
  func refusals() async {
    await #expect(processExitsWith: .failure) {
      try await RateLimiter(.slidingWindow(2, per: .seconds(1))).acquire(tokens: 3)
    }
    await #expect(processExitsWith: .failure) {
      _ = RateLimiter(.slidingWindow(2, per: .seconds(1))).tryAcquire(tokens: 0)
    }
  }
}
