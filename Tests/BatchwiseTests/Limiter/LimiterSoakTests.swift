// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("Limiters under everything at once", .timeLimit(.minutes(2)))
struct LimiterSoakTests {
  /// The last seed is a new one each time; it is printed with the test's name.
  @Test("come to rest", arguments: [1, 2, UInt64.random(in: 0..<1_000_000)])
  func soak(seed: UInt64) async {
    let limiter = ConcurrencyLimiter(limit: 3)
    let keyed = KeyedLimiter<Int>(limit: 4, limitPerKey: 2)
    let ended = InFlightProbe()
    let tasks = 16
    await withTaskGroup { group in
      for number in 0..<tasks {
        group.addTask {
          await ended.body {
            var random = SeededGenerator(seed: seed &* 64 &+ UInt64(number))
            for _ in 0..<150 {
              await Self.act(on: limiter, keyed, using: &random)
            }
          }
        }
      }
      // Limits go up and down while all flows, and closed gates are opened again.
      var random = SeededGenerator(seed: seed)
      while ended.counts.ended < tasks {
        limiter.setLimit(Int.random(in: 0...5, using: &random))
        keyed.setLimit(Int.random(in: 0...6, using: &random))
        keyed.setLimitPerKey(Int.random(in: 0...3, using: &random))
        keyed.setLimit([nil, 1, 0][Int.random(in: 0...2, using: &random)], for: 0)
        for _ in 0..<8 { await Task.yield() }
        limiter.setLimit(3)
        keyed.setLimit(4)
        keyed.setLimitPerKey(2)
        keyed.setLimit(nil, for: 0)
        for _ in 0..<8 { await Task.yield() }
      }
    }
    #expect(limiter.status.waiting == 0 && keyed.status.waiting == 0)
    #expect(limiter.isQuiet && keyed.isQuiet, "seed \(seed)")
  }

  private static func act(
    on limiter: ConcurrencyLimiter, _ keyed: KeyedLimiter<Int>, using random: inout SeededGenerator
  ) async {
    let weight = Int.random(in: 1...3, using: &random)
    let key = Int.random(in: 0...4, using: &random)
    let priority = TaskPriority(rawValue: UInt8.random(in: 5...30, using: &random))
    let kind = Int.random(in: 0...7, using: &random)
    let task = Task {
      switch kind {
      case 0: try await limiter.withPermit(priority: priority, weight: weight) {}
      case 1: try await limiter.withPermit(weight: weight) { await Task.yield() }
      case 2:
        try await limiter.withPermit(weight: weight) {
          try await (0..<3).concurrentForEach(limit: 3) { _ in
            try await limiter.withPermit { await Task.yield() }
          }
        }
      case 3: try await limiter.acquire(priority: priority, weight: weight).release()
      case 4: limiter.tryAcquire(weight: weight)?.release()
      case 5: try await keyed.withPermit(for: key, priority: priority) { await Task.yield() }
      case 6:
        // Always in this order, as with locks.
        try await limiter.withPermit {
          try await keyed.withPermit(for: key) { try await keyed.withPermit(for: key) {} }
        }
      default: try await keyed.acquire(for: key, weight: weight).release()
      }
    }
    if Int.random(in: 0...2, using: &random) == 0 {
      for _ in 0..<Int.random(in: 0...3, using: &random) { await Task.yield() }
      task.cancel()
    }
    _ = await task.result
  }
}
