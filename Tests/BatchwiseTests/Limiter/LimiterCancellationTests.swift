// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("Cancelling who waits for a permit", .timeLimit(.minutes(1)))
struct LimiterCancellationTests {
  /// Runs something in a task that is cancelled before it begins.
  private func cancelled<Success: Sendable>(
    _ operation: @escaping @Sendable () async throws -> Success
  ) async -> Result<Success, any Error> {
    let gate = Gate()
    let task = Task {
      await gate.pass()
      return try await operation()
    }
    task.cancel()
    gate.open()
    return await task.result
  }

  @Test(
    "throws for who is already cancelled, room or not, and no body is entered", arguments: 0...1
  )
  func already(limit: Int) async {
    let limiter = ConcurrencyLimiter(limit: limit)
    let keyed = KeyedLimiter<String>(limit: 1, limitPerKey: limit)
    let bodies = Log<Int>()
    let results = [
      await cancelled { try await limiter.withPermit { bodies.add(1) } },
      await cancelled { try await limiter.acquire().release() },
      await cancelled { try await keyed.withPermit(for: "a") { bodies.add(1) } },
      await cancelled { try await keyed.acquire(for: "a").release() },
    ]
    for result in results {
      #expect(throws: CancellationError.self) { try result.get() }
    }
    #expect(bodies.events.isEmpty)
    #expect(limiter.isQuiet && keyed.isQuiet)
  }

  @Test("changes nothing for what does not wait")
  func notWaiting() async throws {
    let limiter = ConcurrencyLimiter(limit: 1)
    let isGranted = try await cancelled {
      limiter.setLimit(2)
      return limiter.hasPermit() && limiter.status == .init(limit: 2, inFlight: 0, waiting: 0)
    }.get()
    #expect(isGranted)
    #expect(limiter.isQuiet)
  }

  @Test("starts nobody, if nobody ended")
  func startsNobody() async throws {
    for seed in 0..<200 as Range<UInt64> {
      await Task.yield()
      let limiter = ConcurrencyLimiter(limit: 1)
      let executor = SteppingExecutor(seed: seed)
      _ = try executor.run {
        let permit = try await limiter.acquire()
        let probe = InFlightProbe()
        let tasks = (0..<10).map { _ in
          Task(executorPreference: executor) {
            try await limiter.withPermit { await probe.body {} }
          }
        }
        await limiter.waitUntilWaiting(10)
        for task in tasks.prefix(5) { task.cancel() }
        for task in tasks.prefix(5) { _ = await task.result }
        #expect(limiter.status == .init(limit: 1, inFlight: 1, waiting: 5))
        #expect(probe.counts.started == 0)
        permit.release()
        for task in tasks.dropFirst(5) { try await task.value }
        #expect(probe.counts.started == 5)
      }
      #expect(limiter.isQuiet)
    }
  }

  @Test("throws for the one, and leaves the others where they are")
  func onlyTheOne() throws {
    let limiter = ConcurrencyLimiter(limit: 1)
    let executor = SteppingExecutor(seed: 1)
    let log = Log<Int>()
    _ = try executor.run {
      let permit = try await limiter.acquire()
      var tasks: [Task<Void, any Error>] = []
      for number in 0..<3 {
        tasks.append(
          Task(executorPreference: executor) { try await limiter.withPermit { log.add(number) } })
        await limiter.waitUntilWaiting(number + 1)
      }
      tasks[1].cancel()
      await #expect(throws: CancellationError.self) { try await tasks[1].value }
      permit.release()
      try await tasks[0].value
      try await tasks[2].value
    }
    #expect(log.events == [0, 2])
  }

  @Test("of a heavy waiter gives back all it was promised, and lets those behind it start")
  func heavy() throws {
    let limiter = ConcurrencyLimiter(limit: 3)
    let executor = SteppingExecutor(seed: 1)
    _ = try executor.run {
      let permit = try await limiter.acquire()
      let heavy = Task(executorPreference: executor) {
        try await limiter.acquire(weight: 3).release()
      }
      await limiter.waitUntilWaiting(1)
      let light = Task(executorPreference: executor) { try await limiter.acquire().release() }
      await limiter.waitUntilWaiting(2)
      heavy.cancel()
      try await light.value
      #expect(limiter.status == .init(limit: 3, inFlight: 1, waiting: 0))
      permit.release()
    }
    #expect(limiter.isQuiet)
  }

  @Test("between its grant and its body enters no body, and the next one runs")
  func beforeTheBody() throws {
    let limiter = ConcurrencyLimiter(limit: 1)
    let executor = SteppingExecutor(seed: 1)
    let log = Log<Int>()
    _ = try executor.run {
      let permit = try await limiter.acquire()
      var tasks: [Task<Void, any Error>] = []
      for number in 0..<3 {
        tasks.append(
          Task(executorPreference: executor) { try await limiter.withPermit { log.add(number) } })
        await limiter.waitUntilWaiting(number + 1)
      }
      // All in one step: the first is granted and cancelled, and so is the second in its turn.
      permit.release()
      tasks[0].cancel()
      tasks[1].cancel()
      for task in tasks { _ = await task.result }
    }
    #expect(log.events == [2])
    #expect(limiter.isQuiet)
  }

  @Test("on many threads, in the moment of the release, loses nothing and stalls nobody")
  func threads() async {
    let limiter = ConcurrencyLimiter(limit: 1)
    for _ in 0..<300 {
      let bodies = Log<Int>()
      await withTaskGroup { group in
        for number in 0..<8 {
          group.addTask {
            for _ in 0..<10 {
              let task = Task { try await limiter.withPermit { bodies.add(1) } }
              if number.isMultiple(of: 2) { task.cancel() }
              _ = await task.result
            }
          }
        }
      }
      #expect(bodies.events.count >= 40)
      guard limiter.isQuiet else {
        Issue.record("permits were lost")
        return
      }
    }
  }

  @Test("by a hundred thousand at once leaves nothing behind")
  func mass() async throws {
    let limiter = ConcurrencyLimiter(limit: 1)
    let permit = try await limiter.acquire()
    let count = 100_000
    await withTaskGroup { group in
      for _ in 0..<count {
        group.addTask { _ = try? await limiter.acquire().release() }
      }
      await limiter.waitUntilWaiting(count)
      group.cancelAll()
    }
    #expect(limiter.status == .init(limit: 1, inFlight: 1, waiting: 0))
    permit.release()
    #expect(limiter.isQuiet)
  }
}
