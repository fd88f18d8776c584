// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("A limiter for keys", .timeLimit(.minutes(1)))
struct KeyedLimiterTests {
  @Test("keeps both limits, and a busy key keeps no other from starting")
  func bothLimits() throws {
    let limiter = KeyedLimiter<String>(limit: 6, limitPerKey: 2)
    let executor = SteppingExecutor(seed: 1)
    let (probes, all) = (["a": InFlightProbe(), "b": InFlightProbe()], InFlightProbe())
    _ = try executor.run {
      let gate = Gate()
      func task(_ key: String) -> Task<Void, any Error> {
        Task(executorPreference: executor) {
          try await limiter.withPermit(for: key) {
            await all.body { await probes[key]?.body { await gate.pass() } }
          }
        }
      }
      var tasks = (0..<100).map { _ in task("a") }
      await probes["a"]?.waitUntilStarted(2)
      await limiter.waitUntilWaiting(98)
      tasks.append(task("b"))
      await probes["b"]?.waitUntilStarted(1)
      #expect(limiter.status(for: "a") == .init(limit: 2, inFlight: 2, waiting: 98))
      #expect(limiter.status(for: "b") == .init(limit: 2, inFlight: 1, waiting: 0))
      #expect(
        limiter.status
          == .init(limit: 6, limitPerKey: 2, inFlight: 3, waiting: 98, keys: 2))
      gate.open()
      for task in tasks { try await task.value }
    }
    #expect(probes["a"]?.peak == 2 && all.peak == 3)
    #expect(limiter.isQuiet)
  }

  @Test("has exactly as many in flight as the total allows, in order, when keys have room")
  func total() async throws {
    for seed in 0..<100 as Range<UInt64> {
      await Task.yield()
      let limiter = KeyedLimiter<Int>(limit: 3, limitPerKey: 2)
      let probe = InFlightProbe()
      _ = try SteppingExecutor(seed: seed).run {
        await (0..<12).concurrentForEach(limit: .max) { number in
          try? await limiter.withPermit(for: number % 4) {
            _ = await probe.body { await probe.waitUntilStarted(3) }
          }
        }
      }
      #expect(probe.peak == 3)
      #expect(limiter.isQuiet)
    }
  }

  @Test("remembers no key that nobody uses, but its own limit")
  func idleKeys() async throws {
    let limiter = KeyedLimiter<Int>(limit: 1, limitPerKey: 1)
    limiter.setLimit(5, for: 7)
    for key in 0..<10_000 { try await limiter.withPermit(for: key) {} }
    #expect(limiter.status.keys == 0)
    #expect(limiter.status(for: 7).limit == 5)
    #expect(limiter.status(for: 8).limit == 1)
    limiter.setLimit(nil, for: 7)
    #expect(limiter.status(for: 7).limit == 1)
  }

  @Test("counts a permit that is kept together with those that come later")
  func keptPermit() async throws {
    let limiter = KeyedLimiter<String>(limit: 9, limitPerKey: 2)
    let kept = try await limiter.acquire(for: "a")
    for key in ["b", "c", "a"] { try await limiter.withPermit(for: key) {} }
    let second = try await limiter.acquire(for: "a")
    #expect(!limiter.hasPermit(for: "a"))
    #expect(limiter.hasPermit(for: "b"))
    #expect(limiter.status(for: "a").inFlight == 2)
    kept.release()
    #expect(limiter.hasPermit(for: "a"))
    second.release()
    #expect(limiter.isQuiet)
  }

  @Test("lets those start at once for whom a limit is raised: all, every key, or one")
  func raised() throws {
    let limiter = KeyedLimiter<String>(limit: 0, limitPerKey: 0)
    let executor = SteppingExecutor(seed: 1)
    _ = try executor.run {
      let (probe, gate) = (InFlightProbe(), Gate())
      let tasks = ["a", "a", "b"].map { key in
        Task(executorPreference: executor) {
          try await limiter.withPermit(for: key) { await probe.body { await gate.pass() } }
        }
      }
      await limiter.waitUntilWaiting(3)
      limiter.setLimit(9)
      #expect(limiter.status.waiting == 3)
      limiter.setLimitPerKey(1)
      #expect(limiter.status.inFlight == 2)
      limiter.setLimit(2, for: "a")
      #expect(limiter.status.inFlight == 3)
      limiter.setLimitPerKey(0)
      #expect(limiter.status(for: "a") == .init(limit: 2, inFlight: 2, waiting: 0))
      #expect(limiter.status(for: "b") == .init(limit: 0, inFlight: 1, waiting: 0))
      gate.open()
      for task in tasks { try await task.value }
      #expect(!limiter.hasPermit(for: "b"))
    }
    #expect(limiter.isQuiet)
  }

  @Test("shares a permit with whoever asks for the same key inside of it, and refuses another key")
  func nested() async throws {
    let limiter = KeyedLimiter<String>(limit: 1, limitPerKey: 1)
    try await limiter.withPermit(for: "a") {
      try await limiter.withPermit(for: "a") {
        let inFlight = try await limiter.withPermit(for: "a") { limiter.status.inFlight }
        #expect(inFlight == 1)
        await #expect(throws: NestedPermitError()) { try await limiter.withPermit(for: "b") {} }
      }
      await #expect(throws: NestedPermitError()) { try await limiter.withPermit(for: "b") {} }
      await #expect(throws: NestedPermitError()) { try await limiter.acquire(for: "b").release() }
      #expect(!limiter.hasPermit(for: "b"))
    }
    try await limiter.withPermit(for: "b") {}
    #expect(limiter.isQuiet)
  }

  @Test("refuses what is nested where that was chosen, the same key too")
  func nestedFails() async throws {
    let limiter = KeyedLimiter<String>(limit: 2, limitPerKey: 2, nesting: .fails)
    _ = try await limiter.withPermit(for: "a") {
      await #expect(throws: NestedPermitError()) { try await limiter.withPermit(for: "a") {} }
    }
    #expect(limiter.isQuiet)
  }

  @Test(
    "keeps every permit, whichever keys come and are cancelled", arguments: 0..<4 as Range<UInt64>)
  func mix(round: UInt64) async throws {
    for seed in round * 500..<(round + 1) * 500 {
      await Task.yield()
      var random = SeededGenerator(seed: seed)
      let limiter = KeyedLimiter<Int>(limit: 3, limitPerKey: 2)
      let all = PermitProbe()
      let probes = (0..<3).map { _ in PermitProbe() }
      let uses = (0..<8).map { _ in
        (
          key: Int.random(in: 0..<3, using: &random), weight: Int.random(in: 1...2, using: &random),
          cancelledAfter: Bool.random(using: &random) ? Int.random(in: 0...8, using: &random) : nil
        )
      }
      let executor = SteppingExecutor(seed: seed)
      _ = try executor.run {
        await withTaskGroup { group in
          for (key, weight, cancelledAfter) in uses {
            group.addTask {
              let task = Task(executorPreference: executor) {
                try await limiter.withPermit(for: key, weight: weight) {
                  await all.body(weight: weight) {
                    await probes[key].body(weight: weight) { await Task.yield() }
                  }
                }
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
      #expect(all.peak <= 3 && probes.allSatisfy { $0.peak <= 2 }, "seed \(seed)")
    }
  }
}
