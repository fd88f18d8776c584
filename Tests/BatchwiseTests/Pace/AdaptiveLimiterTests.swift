// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("An adaptive limiter", .timeLimit(.minutes(1)))
struct AdaptiveLimiterTests {
  private struct Overload: Error {}
  private struct Mistake: Error {}

  /// Remembers what it was told, and raises the limit by one for each success.
  private struct Recorder: AdaptiveLimit {
    var limit: Int
    let samples = Watched<[LimitSample]>([])

    mutating func record(_ sample: LimitSample) {
      samples.update { $0.append(sample) }
      switch sample.ending {
      case .success: limit += 1
      case .dropped: limit = max(1, limit - 1)
      case .ignored: break
      }
    }
  }

  @Test("measures the body, without the time for which it waited")
  func measures() throws {
    let clock = ManualClock()
    let recorder = Recorder(limit: 1)
    let limiter = AdaptiveLimiter(recorder, clock: clock)
    _ = try SteppingExecutor(seed: 0).run(clock: clock) {
      try await withThrowingTaskGroup { group in
        for _ in 0..<3 {
          group.addTask { try await limiter.withPermit { try await clock.sleep(for: .seconds(2)) } }
        }
        try await group.waitForAll()
      }
    }
    #expect(
      recorder.samples.value.map(\.ending) == Array(repeating: .success(.seconds(2)), count: 3))
    // One at a time at first; then the limit was two.
    #expect(recorder.samples.value.map(\.inFlight) == [1, 2, 2])
    #expect(clock.now.sinceStart == .seconds(4))
    #expect(limiter.status == .init(limit: 4, inFlight: 0, waiting: 0))
  }

  @Test("tells a drop from what says nothing, and takes no failure for a success")
  func classification() async throws {
    let recorder = Recorder(limit: 9)
    let limiter = AdaptiveLimiter(recorder) { $0 is Overload ? .dropped : .ignored }
    await #expect(throws: Overload.self) { try await limiter.withPermit { throw Overload() } }
    await #expect(throws: Mistake.self) { try await limiter.withPermit { throw Mistake() } }
    #expect(recorder.samples.value.map(\.ending) == [.dropped, .ignored])
    #expect(limiter.status.limit == 8)
  }

  @Test("takes timeouts for drops by default, so work that always times out lowers the limit")
  func timeouts() throws {
    let clock = ManualClock()
    let limiter = AdaptiveLimiter(AIMDLimit(initial: 40, within: 1...100), clock: clock)
    _ = try SteppingExecutor(seed: 0).run(clock: clock) {
      await (0..<600).concurrentForEach(limit: 100) { _ in
        try? await limiter.withPermit {
          try await withTimeout(.seconds(5), clock: clock) {
            try await clock.sleep(for: .seconds(60))
          }
        }
      }
    }
    #expect(limiter.status.limit == 1)
  }

  @Test("takes no notice of what the caller's cancellation ended, and gives the permit back")
  func cancelledCaller() async throws {
    let recorder = Recorder(limit: 1)
    let limiter = AdaptiveLimiter(recorder) { _ in .dropped }
    let probe = InFlightProbe()
    let gate = Gate()
    let task = Task {
      try await limiter.withPermit { try await probe.body { try await gate.passUnlessCancelled() } }
    }
    await probe.waitUntilStarted(1)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(recorder.samples.value == [LimitSample(.ignored, inFlight: 1)])
    #expect(limiter.status == .init(limit: 1, inFlight: 0, waiting: 0))
  }

  @Test("learns nothing from a task that was cancelled already")
  func alreadyCancelled() async {
    let recorder = Recorder(limit: 1)
    let limiter = AdaptiveLimiter(recorder)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await limiter.withPermit { _ = Issue.record("begun") }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(recorder.samples.value.isEmpty)
  }

  @Test("lets exactly as many in flight as the rule says, with many threads")
  func real() async throws {
    struct Fixed: AdaptiveLimit {
      let limit = 3
      mutating func record(_ sample: LimitSample) {}
    }
    let limiter = AdaptiveLimiter(Fixed())
    let probe = InFlightProbe()
    try await (0..<300).concurrentForEach(limit: 20) { _ in
      try await limiter.withPermit {
        await probe.body { await probe.waitUntilStarted(3) }
      }
    }
    #expect(probe.peak == 3)
  }

  @Test("has the latest limit in the end, when many threads move it")
  func latest() async throws {
    let recorder = Recorder(limit: 8)
    let limiter = AdaptiveLimiter(recorder)
    try await (0..<2_000).concurrentForEach(limit: 16) { _ in try await limiter.withPermit {} }
    #expect(limiter.status.limit == 2_008)
  }
}
