// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseTesting
import Testing

@Suite("A backoff", .timeLimit(.minutes(1)))
struct BackoffTests {
  private func pauses(_ backoff: Backoff, _ failures: [Int]) -> [Duration] {
    var generator = SeededGenerator(seed: 0)
    return failures.map { backoff.pause(afterFailures: $0, using: &generator) }
  }

  @Test("grows from the first pause to the cap, and no further for any number")
  func exponential() {
    let backoff = Backoff.exponential(
      from: .milliseconds(100), cap: .seconds(1), jitter: .none)
    let expected = [100, 100, 200, 400, 800, 1_000, 1_000, 1_000]
    #expect(
      pauses(backoff, [0, 1, 2, 3, 4, 5, 1_000, .max]) == expected.map { .milliseconds($0) })
  }

  @Test("does not overflow, whatever it is made of")
  func extremes() {
    for first in [Duration.zero, .nanoseconds(1), .seconds(1), .seconds(Int64.max)] {
      for cap in [Duration.zero, .seconds(1), .seconds(Int64.max)] {
        for factor in [1, 1.5, 2, 1e300, .infinity] {
          let backoff = Backoff.exponential(from: first, factor: factor, cap: cap, jitter: .none)
          for pause in pauses(backoff, [1, 2, 63, 64, 65, 1_025, .max]) {
            #expect(pause >= min(first, cap) && pause <= cap)
          }
        }
      }
    }
  }

  @Test("stays the same if it is constant")
  func constant() {
    let backoff = Backoff.constant(.seconds(3), jitter: .none)
    #expect(pauses(backoff, [1, 2, .max]) == [.seconds(3), .seconds(3), .seconds(3)])
  }

  @Test("spreads over the whole pause by default, evenly")
  func jitter() {
    let backoff = Backoff.exponential(from: .seconds(8), cap: .seconds(8))
    var generator = SeededGenerator(seed: 1)
    var counts = [Int](repeating: 0, count: 8)
    for _ in 0..<8_000 {
      let pause = backoff.pause(afterFailures: 5, using: &generator)
      #expect(pause >= .zero && pause <= .seconds(8))
      counts[min(7, Int(pause.components.seconds))] += 1
    }
    #expect(counts.allSatisfy { (850...1_150).contains($0) })
    #expect(pauses(.constant(.zero), [1]) == [.zero])
  }

  @Test("refuses pauses that are none, and a growth that is a decline")
  func refusals() async {
    await #expect(processExitsWith: .failure) { _ = Backoff.constant(.seconds(-1)) }
    await #expect(processExitsWith: .failure) {
      _ = Backoff.exponential(from: .seconds(1), factor: 0.5, cap: .seconds(9))
    }
  }
}
