// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("Values at the end of their range", .timeLimit(.minutes(1)))
struct ExtremeValuesTests {
  @Test(
    "make a rate that can be counted by",
    arguments: [
      RateLimit.tokenBucket(1, per: .seconds(60), burst: .max),
      .tokenBucket(1, per: .seconds(Int64.max), burst: 30), .tokenBucket(.max, per: .seconds(1)),
      .slidingWindow(.max, per: .seconds(Int64.max)), .slidingWindow(.max, per: .nanoseconds(1)),
    ])
  func rate(_ limit: RateLimit) {
    var state = RateLimitState(limit)
    for step in 0..<10 {
      let now = Duration.seconds(step)
      _ = state.take(at: now)
      _ = state.take(.max, at: now)
      _ = state.earliest(for: 5, at: now)
      #expect(state.available(at: now) >= 0)
    }
  }

  @Test("make a timeout that does not fire")
  func timeout() async throws {
    #expect(try await withTimeout(Duration(attoseconds: .max)) { 1 } == 1)
    let queue = TaskQueue<Int>(limit: 1)
    let forever = Duration(attoseconds: .max)
    #expect(try await queue.add(timeout: forever, waitTimeout: forever) { 2 }.value == 2)
  }

  @Test("make an adaptive limit that can be used")
  func adaptiveLimit() {
    var limit = AIMDLimit(initial: .max, within: 1...Int.max)
    #expect(limit.limit > 1 << 60)
    limit.record(LimitSample(.success(.seconds(1)), inFlight: .max))
    limit.record(LimitSample(.dropped, inFlight: .max))
    #expect(limit.limit >= 1)
  }
}
