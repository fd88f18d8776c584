// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("A limiter, step by step", .timeLimit(.minutes(2)))
struct SteppedLimiterTests {
  /// What one task does with the limiter.
  enum Use: CaseIterable {
    case body, nested, failing, permit, droppedPermit, tried
  }

  private static func use(
    _ use: Use, of limiter: ConcurrencyLimiter, weight: Int, yields: Int, probe: PermitProbe
  ) async throws {
    func pause() async { for _ in 0..<yields { await Task.yield() } }
    switch use {
    case .body:
      try await limiter.withPermit(weight: weight) { await probe.body(weight: weight, pause) }
    case .nested:
      try await limiter.withPermit(weight: weight) {
        try await probe.body(weight: weight) {
          try await withThrowingTaskGroup { group in
            for _ in 0..<2 { group.addTask { try await limiter.withPermit { await Task.yield() } } }
            try await group.waitForAll()
          }
        }
      }
    case .failing:
      try await limiter.withPermit(weight: weight) {
        await probe.body(weight: weight, pause)
        throw Boom(offset: 0)
      }
    case .permit:
      let permit = try await limiter.acquire(weight: weight)
      await probe.body(weight: weight, pause)
      permit.release()
    case .droppedPermit:
      let permit = try await limiter.acquire(weight: weight)
      await probe.body(weight: weight, pause)
      _ = consume permit
    case .tried:
      if let permit = limiter.tryAcquire(weight: weight) {
        await probe.body(weight: weight, pause)
        permit.release()
      }
    }
  }

  @Test(
    "keeps its permits, whoever comes, fails and is cancelled", arguments: 0..<8 as Range<UInt64>)
  func mix(round: UInt64) async throws {
    for seed in round * 1000..<(round + 1) * 1000 {
      await Task.yield()
      var random = SeededGenerator(seed: seed)
      let limit = Int.random(in: 1...4, using: &random)
      let limiter = ConcurrencyLimiter(limit: limit)
      let probe = PermitProbe()
      let uses = (0..<Int.random(in: 1...9, using: &random)).map { _ in
        (
          Use.allCases[Int.random(in: 0..<Use.allCases.count, using: &random)],
          weight: min(limit, Int.random(in: 1...3, using: &random)),
          yields: Int.random(in: 0...3, using: &random),
          cancelledAfter: Bool.random(using: &random) ? Int.random(in: 0...12, using: &random) : nil
        )
      }
      let executor = SteppingExecutor(seed: seed)
      _ = try executor.run {
        await withTaskGroup { group in
          for (use, weight, yields, cancelledAfter) in uses {
            group.addTask {
              let task = Task(executorPreference: executor) {
                try await Self.use(use, of: limiter, weight: weight, yields: yields, probe: probe)
              }
              if let cancelledAfter {
                for _ in 0..<cancelledAfter { await Task.yield() }
                task.cancel()
              }
              _ = await task.result
            }
          }
        }
      }
      #expect(limiter.isQuiet, "seed \(seed)")
      #expect(probe.now == 0 && probe.peak <= limit, "seed \(seed)")
    }
  }

  @Test("has exactly as many in flight as the limit allows", arguments: 1...6)
  func peak(limit: Int) async throws {
    for seed in 0..<100 as Range<UInt64> {
      await Task.yield()
      let limiter = ConcurrencyLimiter(limit: limit)
      let probe = InFlightProbe()
      _ = try SteppingExecutor(seed: seed).run {
        await (0..<limit * 3).concurrentForEach(limit: .max) { _ in
          try? await limiter.withPermit {
            await probe.body {
              // The first wait until there are as many as there should be.
              _ = await probe.waitUntilStarted(limit)
            }
          }
        }
      }
      #expect(probe.peak == limit)
      #expect(probe.counts.ended == limit * 3)
    }
  }

  @Test(
    "is quiet again when its caller is cancelled at any step", arguments: 0..<8 as Range<UInt64>)
  func cancelledAtEveryStep(seed: UInt64) async throws {
    for use in Use.allCases {
      var step = 0
      while true {
        await Task.yield()
        let limiter = ConcurrencyLimiter(limit: 1)
        let probe = PermitProbe()
        let executor = SteppingExecutor(seed: seed)
        let (_, steps) = try executor.run(cancellingAfter: step) {
          try await withThrowingTaskGroup { group in
            for _ in 0..<3 {
              group.addTask {
                try await Self.use(use, of: limiter, weight: 1, yields: 1, probe: probe)
              }
            }
            try await group.waitForAll()
          }
        }
        #expect(limiter.isQuiet, "\(use), cancelled at step \(step), seed \(seed)")
        #expect(probe.now == 0 && probe.peak <= 1)
        guard step <= steps else { break }
        step += 1
      }
      #expect(step > 3)
    }
  }

  @Test("is free when a map around it is cancelled at any step", arguments: 0..<4 as Range<UInt64>)
  func cancelledMap(seed: UInt64) async throws {
    var step = 0
    var steps = 1
    while step <= steps {
      await Task.yield()
      let limiter = ConcurrencyLimiter(limit: 2)
      let probe = InFlightProbe()
      let result: Result<[Int], any Error>
      (result, steps) = try SteppingExecutor(seed: seed).run(cancellingAfter: step) {
        try await (0..<6).concurrentMap(limit: 4) { number in
          try await limiter.withPermit {
            await probe.body { await Task.yield() }
            return number
          }
        }
      }
      if let numbers = try? result.get() { #expect(numbers == Array(0..<6)) }
      #expect(limiter.isQuiet, "cancelled at step \(step), seed \(seed)")
      #expect(probe.peak <= 2)
      step += 1
    }
  }

  @Test("gives a permit to whoever is cancelled at that moment, or to the next, never to neither")
  func grantedOrCancelled() async throws {
    for seed in 0..<5000 as Range<UInt64> {
      await Task.yield()
      let limiter = ConcurrencyLimiter(limit: 1)
      let executor = SteppingExecutor(seed: seed)
      let (bodies, _) = try executor.run {
        let permit = try await limiter.acquire()
        let bodies = Log<Int>()
        let tasks = (0..<3).map { number in
          Task(executorPreference: executor) {
            try await limiter.withPermit { bodies.add(number) }
          }
        }
        await limiter.waitUntilWaiting(3)
        // Cancelled before, in the moment of, or after the release, as the seed will have it.
        let first = Task(executorPreference: executor) { tasks[0].cancel() }
        let second = Task(executorPreference: executor) { tasks[1].cancel() }
        await Task.yield()
        permit.release()
        await first.value
        await second.value
        for task in tasks { _ = await task.result }
        return bodies.events
      }
      #expect(try bodies.get().contains(2), "seed \(seed)")
      #expect(limiter.isQuiet)
    }
  }

  @Test("never lets two that want three of four permits wait for each other")
  func allOrNone() async throws {
    for seed in 0..<200 as Range<UInt64> {
      await Task.yield()
      let limiter = ConcurrencyLimiter(limit: 4)
      let probe = PermitProbe()
      _ = try SteppingExecutor(seed: seed).run {
        await (0..<2).concurrentForEach(limit: 2) { _ in
          for _ in 0..<10 {
            try? await limiter.withPermit(weight: 3) {
              await probe.body(weight: 3) { await Task.yield() }
            }
          }
        }
      }
      #expect(probe.peak == 3)
      #expect(limiter.isQuiet)
    }
  }

  @Test("lets a thousand waits end at their deadline, each with its own error")
  func deadlines() throws {
    let limiter = ConcurrencyLimiter(limit: 1)
    let clock = ManualClock()
    let executor = SteppingExecutor(seed: 1)
    let (count, _) = try executor.run(clock: clock) {
      let permit = try await limiter.acquire()
      let tasks = (0..<1000).map { _ in
        Task(executorPreference: executor) { try await limiter.acquire().release() }
      }
      await limiter.waitUntilWaiting(1000)
      for task in tasks {
        Task(executorPreference: executor) {
          try await clock.sleep(until: ManualClock.Instant(sinceStart: .milliseconds(1)))
          task.cancel()
        }
      }
      var count = 0
      for task in tasks {
        if case .failure(let error) = await task.result, error is CancellationError { count += 1 }
      }
      permit.release()
      return count
    }
    #expect(try count.get() == 1000)
    #expect(limiter.isQuiet)
  }
}
