// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseTesting
import Testing

@Suite("A timeout", .timeLimit(.minutes(1)))
struct TimeoutTests {
  private struct Boom: Error, Equatable {}

  @Test("returns or throws what the work does before the deadline, and leaves nothing behind")
  func inTime() throws {
    let clock = ManualClock()
    let (sum, _) = try SteppingExecutor(seed: 0).run(clock: clock) {
      try await withTimeout(.seconds(2), clock: clock) {
        try await clock.sleep(for: .seconds(1))
        return 7
      }
    }
    #expect(try sum.get() == 7)
    let (failure, _) = try SteppingExecutor(seed: 0).run(clock: clock) {
      try await withTimeout(.seconds(2), clock: clock) { throw Boom() }
    }
    #expect(throws: Boom.self) { try failure.get() }
    #expect(clock.now.sinceStart == .seconds(1))
    #expect(clock.sleeperCount == 0)
  }

  @Test("cancels the work at the deadline, waits for its end, and then throws")
  func late() async throws {
    let clock = ManualClock()
    let gate = Gate()
    let hasEnded = Watched(false)
    let isCancelled = Watched(false)
    let call = Task {
      try await withTimeout(.seconds(1), clock: clock) {
        await withTaskCancellationHandler {
          await gate.pass()
        } onCancel: {
          isCancelled.update { $0 = true }
        }
        hasEnded.update { $0 = true }
      }
    }
    await clock.waitForSleepers(1)
    #expect(!isCancelled.value)
    clock.advance(by: .seconds(1))
    await isCancelled.wait { $0 }
    // The work is stubborn, so the call goes on as long as it does.
    #expect(!hasEnded.value)
    gate.open()
    let error = await #expect(throws: TimeoutError.self) { try await call.value }
    #expect(hasEnded.value)
    #expect(error?.timeout == .seconds(1))
    #expect(error?.cause == nil)
  }

  @Test("keeps a permit that is held around it until stubborn work has ended")
  func permit() async throws {
    let clock = ManualClock()
    let gate = Gate()
    let limiter = ConcurrencyLimiter(limit: 1)
    let isCancelled = Watched(false)
    let call = Task {
      try await limiter.withPermit {
        try await withTimeout(.seconds(1), clock: clock) {
          await withTaskCancellationHandler {
            await gate.pass()
          } onCancel: {
            isCancelled.update { $0 = true }
          }
        }
      }
    }
    await clock.waitForSleepers(1)
    clock.advance(by: .seconds(1))
    await isCancelled.wait { $0 }
    #expect(limiter.status.inFlight == 1)
    gate.open()
    await #expect(throws: TimeoutError.self) { try await call.value }
    #expect(limiter.status.inFlight == 0)
  }

  @Test("tells what else the work threw when it was cancelled")
  func cause() throws {
    let clock = ManualClock()
    let (result, _) = try SteppingExecutor(seed: 0).run(clock: clock) {
      try await withTimeout(.seconds(1), clock: clock) {
        do { try await clock.sleep(for: .seconds(9)) } catch { throw Boom() }
      }
    }
    let error = #expect(throws: TimeoutError.self) { try result.get() }
    #expect(error?.cause as? Boom == Boom())
    #expect(error?.description == "not done within 1.0 seconds: Boom()")
  }

  @Test("throws one error type for work that cannot fail")
  func typed() throws {
    let clock = ManualClock()
    let (result, _) = try SteppingExecutor(seed: 0).run(clock: clock) {
      () async throws(TimeoutError) -> Int in
      try await withTimeout(.seconds(1), clock: clock) {
        try? await clock.sleep(for: .seconds(9))
        return 7
      }
    }
    #expect(throws: TimeoutError.self) { try result.get() }
  }

  @Test("does not begin the work when there is no time for it", arguments: [0, -1, Int.min / 2])
  func noTime(seconds: Int) async {
    await #expect(throws: TimeoutError.self) {
      try await withTimeout(.seconds(seconds)) { _ = Issue.record("begun") }
    }
    await #expect(throws: TimeoutError.self) {
      try await withTimeout(.seconds(seconds)) { () async throws in _ = Issue.record("begun") }
    }
  }

  @Test("takes the longest time for never")
  func never() async throws {
    #expect(try await withTimeout(.seconds(Int64.max)) { 7 } == 7)
  }

  @Test("does not begin the work in a task that is cancelled already, if that can be told")
  func alreadyCancelled() async throws {
    let failing = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await withTimeout(.seconds(1)) { () async throws in _ = Issue.record("begun") }
    }
    await #expect(throws: CancellationError.self) { try await failing.value }
    let unfailing = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await withTimeout(.seconds(1)) { Task.isCancelled }
    }
    #expect(try await unfailing.value)
  }

  @Test("hands the caller's cancellation to the work, and has no deadline after it")
  func callerCancelled() async throws {
    let clock = ManualClock()
    let gate = Gate()
    let isCancelled = Watched(false)
    let call = Task {
      try await withTimeout(.seconds(1), clock: clock) { () async throws -> Int in
        await withTaskCancellationHandler {
          await gate.pass()
        } onCancel: {
          isCancelled.update { $0 = true }
        }
        return 7
      }
    }
    await clock.waitForSleepers(1)
    call.cancel()
    await isCancelled.wait { $0 }
    clock.advance(by: .seconds(2))
    gate.open()
    #expect(try await call.value == 7)
  }

  @Test("nests: the earliest deadline ends the work, and each call tells its own")
  func nested() throws {
    for (outer, inner) in [(1, 2), (2, 1)] {
      let clock = ManualClock()
      let (result, _) = try SteppingExecutor(seed: 3).run(clock: clock) {
        try await withTimeout(.seconds(outer), clock: clock) { () async throws in
          try await withTimeout(.seconds(inner), clock: clock) { () async throws in
            try await clock.sleep(for: .seconds(5))
          }
        }
      }
      let error = #expect(throws: TimeoutError.self) { try result.get() }
      #expect(error?.timeout == .seconds(1))
      #expect(clock.now.sinceStart == .seconds(1))
    }
  }

  @Test("keeps the caller's task-local values")
  func taskLocals() async throws {
    let value = try await Local.$value.withValue(7) {
      try await withTimeout(.seconds(60)) { Local.value }
    }
    #expect(value == 7)
  }

  private enum Local {
    @TaskLocal static var value = 0
  }

  /// Whatever comes first decides, and whichever it is, the work is over when the call is.
  @Test("has one of three endings on every schedule, with the end of the work and no sleeper left")
  func stepped() async throws {
    var endings: [String: Int] = [:]
    for seed in 0..<5_000 as Range<UInt64> {
      await Task.yield()
      var generator = SeededGenerator(seed: seed)
      let clock = ManualClock()
      let probe = InFlightProbe()
      let work = Int.random(in: 0...3, using: &generator)
      let timeout = Int.random(in: 1...3, using: &generator)
      let isStubborn = Bool.random(using: &generator)
      let step = Bool.random(using: &generator) ? Int.random(in: 0...8, using: &generator) : nil
      let (result, _) = try SteppingExecutor(seed: seed).run(clock: clock, cancellingAfter: step) {
        try await withTimeout(.seconds(timeout), clock: clock) {
          try await probe.body {
            do {
              try await clock.sleep(for: .seconds(work))
            } catch {
              if !isStubborn { throw error }
            }
            return 7
          }
        }
      }
      #expect(probe.counts.inFlight == 0, "seed \(seed)")
      #expect(clock.sleeperCount == 0, "seed \(seed)")
      switch result {
      case .success:
        endings["value", default: 0] += 1
        #expect(work <= timeout || step != nil, "seed \(seed)")
      case .failure(is TimeoutError):
        endings["timeout", default: 0] += 1
        #expect(work >= timeout, "seed \(seed)")
        #expect(clock.now.sinceStart == .seconds(timeout), "seed \(seed)")
      case .failure(let error):
        endings["cancellation", default: 0] += 1
        #expect(error is CancellationError && step != nil, "seed \(seed)")
      }
    }
    #expect(endings.count == 3)
    #expect(endings.values.allSatisfy { $0 > 100 })
  }

  @Test("ends work by the real clock")
  func real() async {
    let error = await #expect(throws: TimeoutError.self) {
      try await withTimeout(.milliseconds(5)) { try await Gate().passUnlessCancelled() }
    }
    // That the work was cancelled is known, and is no cause.
    #expect(error?.cause == nil)
  }
}
