// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("Asking for a permit while holding one", .timeLimit(.minutes(1)))
struct NestingTests {
  private static func run<Success: Sendable>(
    seed: UInt64 = 1,
    _ operation: @escaping @Sendable (SteppingExecutor) async throws -> Success
  ) throws -> Success {
    let executor = SteppingExecutor(seed: seed)
    return try executor.run { try await operation(executor) }.result.get()
  }

  @Test("runs on the permit that is held, however deep")
  func shares() throws {
    let limiter = ConcurrencyLimiter(limit: 1)
    let depth = try Self.run { _ in
      try await limiter.withPermit {
        try await limiter.withPermit(weight: 7) {
          try await limiter.withPermit {
            #expect(limiter.status == .init(limit: 1, inFlight: 1, waiting: 0))
            return 3
          }
        }
      }
    }
    #expect(depth == 3)
    #expect(limiter.isQuiet)
  }

  @Test("throws a clear error where that was chosen, and keeps the permit that is held")
  func fails() throws {
    let limiter = ConcurrencyLimiter(limit: 2, nesting: .fails)
    try Self.run { _ in
      try await limiter.withPermit {
        await #expect(throws: NestedPermitError()) { try await limiter.withPermit {} }
        await #expect(throws: NestedPermitError()) { try await limiter.acquire().release() }
        #expect(!limiter.hasPermit())
        #expect(limiter.status.inFlight == 1)
      }
      try await limiter.withPermit {}
    }
    #expect(limiter.isQuiet)
  }

  @Test(
    "from child tasks takes turns on the permit, as many at once as it has weight", arguments: 1...3
  )
  func children(weight: Int) async throws {
    for seed in 0..<200 as Range<UInt64> {
      await Task.yield()
      let limiter = ConcurrencyLimiter(limit: 3)
      let probe = InFlightProbe()
      try Self.run(seed: seed) { _ in
        try await limiter.withPermit(weight: weight) {
          await (0..<6).concurrentForEach(limit: .max) { _ in
            try? await limiter.withPermit {
              _ = await probe.body { await probe.waitUntilStarted(weight) }
            }
          }
          #expect(limiter.status.inFlight == weight)
        }
      }
      #expect(probe.peak == weight)
      #expect(limiter.isQuiet)
    }
  }

  @Test("from a task that outlives the permit waits like anybody else", arguments: [true, false])
  func outlives(shares: Bool) throws {
    let limiter = ConcurrencyLimiter(limit: 1, nesting: shares ? .shares : .fails)
    try Self.run { executor in
      let gate = Gate()
      let task = try await limiter.withPermit {
        Task(executorPreference: executor) {
          await gate.pass()
          try await limiter.withPermit {}
        }
      }
      let permit = try await limiter.acquire()
      gate.open()
      await limiter.waitUntilWaiting(1)
      permit.release()
      try await task.value
    }
    #expect(limiter.isQuiet)
  }

  @Test("by a task that outlives the holder keeps the permit until it is over")
  func keepsThePermit() throws {
    let limiter = ConcurrencyLimiter(limit: 1)
    try Self.run { executor in
      let (gate, probe) = (Gate(), InFlightProbe())
      let task = try await limiter.withPermit {
        let task = Task(executorPreference: executor) {
          try await limiter.withPermit { await probe.body { await gate.pass() } }
        }
        await probe.waitUntilStarted(1)
        return task
      }
      #expect(limiter.status.inFlight == 1)
      #expect(!limiter.hasPermit())
      gate.open()
      try await task.value
      #expect(limiter.hasPermit())
    }
    #expect(limiter.isQuiet)
  }

  @Test("shares the outer permit when the inner one is over already")
  func innerIsOver() throws {
    let limiter = ConcurrencyLimiter(limit: 1)
    try Self.run { executor in
      try await limiter.withPermit {
        let gate = Gate()
        let task = try await limiter.withPermit {
          Task(executorPreference: executor) {
            await gate.pass()
            try await limiter.withPermit {}
          }
        }
        gate.open()
        // Awaited on the outer permit: a place in the common order would never come.
        try await task.value
      }
    }
    #expect(limiter.isQuiet)
  }

  @Test("knows each of two limiters that are used in turn", arguments: [true, false])
  func interleaved(shares: Bool) throws {
    let one = ConcurrencyLimiter(limit: 1, nesting: shares ? .shares : .fails)
    let two = ConcurrencyLimiter(limit: 1)
    let isNested = try Self.run { _ in
      try await one.withPermit {
        try await two.withPermit {
          do {
            return try await one.withPermit { try await two.withPermit { false } }
          } catch is NestedPermitError {
            return true
          }
        }
      }
    }
    #expect(isNested != shares)
    #expect(one.isQuiet && two.isQuiet)
  }

  @Test("and being cancelled while it waits for its turn leaves the others theirs")
  func cancelled() async throws {
    for seed in 0..<500 as Range<UInt64> {
      await Task.yield()
      let limiter = ConcurrencyLimiter(limit: 2)
      let count = try Self.run(seed: seed) { executor in
        try await limiter.withPermit {
          let tasks = (0..<4).map { number in
            Task(executorPreference: executor) {
              try await limiter.withPermit { await Task.yield() }
            }
          }
          await Task.yield()
          tasks[0].cancel()
          tasks[2].cancel()
          var count = 0
          for task in tasks { if case .success = await task.result { count += 1 } }
          return count
        }
      }
      #expect(count >= 2)
      #expect(limiter.isQuiet, "seed \(seed)")
    }
  }

  @Test("takes a permit that may be kept beyond the body; what it shares is kept as long")
  func acquired() async throws {
    let limiter = ConcurrencyLimiter(limit: 1)
    var kept: Permit?
    try await limiter.withPermit { kept = try await limiter.acquire() }
    #expect(limiter.status.inFlight == 1)
    kept?.release()
    kept = nil
    #expect(limiter.isQuiet)
  }

  @Test("never waits for itself, whatever is inside of what", arguments: 0..<4 as Range<UInt64>)
  func random(round: UInt64) async throws {
    for seed in round * 250..<(round + 1) * 250 {
      await Task.yield()
      let limiters = (1...2).map { ConcurrencyLimiter(limit: $0) }
      try Self.run(seed: seed) { executor in
        await withTaskGroup { group in
          for number in 0..<4 as Range<UInt64> {
            group.addTask {
              var random = SeededGenerator(seed: seed * 4 + number)
              try? await Self.nest(limiters, depth: 3, on: executor, using: &random)
            }
          }
        }
      }
      #expect(limiters.allSatisfy { $0.isQuiet }, "seed \(seed)")
    }
  }

  /// Nests permits of limiters in the order of the limiters; then each may be asked again.
  private static func nest(
    _ limiters: [ConcurrencyLimiter], depth: Int, on executor: SteppingExecutor,
    using random: inout SeededGenerator
  ) async throws {
    let weights = (0..<6).map { _ in Int.random(in: 1...3, using: &random) }
    let order = (0..<3).map { _ in Int.random(in: 0...1, using: &random) }
    let cancels = Bool.random(using: &random)
    try await limiters[0].withPermit(weight: weights[0]) {
      try await limiters[1].withPermit(weight: weights[1]) {
        try await limiters[order[0]].withPermit(weight: weights[2]) {
          let task = Task(executorPreference: executor) {
            try await limiters[order[1]].withPermit(weight: weights[3]) { await Task.yield() }
          }
          if cancels { task.cancel() }
          await Task.yield()
          try await limiters[order[2]].withPermit(weight: weights[4]) { await Task.yield() }
          _ = await task.result
        }
      }
    }
  }
}
