// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Synchronization
import Testing

@testable import Batchwise

@Suite("A permit", .timeLimit(.minutes(1)))
struct PermitTests {
  @Test("goes from its holder to the first waiter at once, and nobody slips in between")
  func noBarging() throws {
    let limiter = ConcurrencyLimiter(limit: 1)
    let executor = SteppingExecutor(seed: 1)
    _ = try executor.run {
      let permit = try await limiter.acquire()
      let waiter = Task(executorPreference: executor) { try await limiter.acquire().release() }
      await limiter.waitUntilWaiting(1)
      permit.release()
      // The waiter has not run yet, and the permit is its own.
      #expect(limiter.status == .init(limit: 1, inFlight: 1, waiting: 0))
      #expect(!limiter.hasPermit())
      try await waiter.value
    }
    #expect(limiter.isQuiet)
  }

  @Test("is not given to who tries while others wait for more than there is")
  func tryOvertakesNobody() throws {
    let limiter = ConcurrencyLimiter(limit: 3)
    let executor = SteppingExecutor(seed: 1)
    _ = try executor.run {
      let permit = try await limiter.acquire()
      let heavy = Task(executorPreference: executor) {
        try await limiter.acquire(weight: 3).release()
      }
      await limiter.waitUntilWaiting(1)
      #expect(!limiter.hasPermit())
      heavy.cancel()
      #expect(limiter.hasPermit(weight: 2))
      permit.release()
    }
  }

  @Test("is given back by its release, by being dropped, and by whoever got it, once each")
  func ways() async throws {
    let limiter = ConcurrencyLimiter(limit: 2)
    let released = try await limiter.acquire()
    let dropped = try await limiter.acquire()
    #expect(!limiter.hasPermit())
    released.release()
    #expect(limiter.status.inFlight == 1)
    do { _ = consume dropped }
    #expect(limiter.status.inFlight == 0)

    let box = Box(limiter.tryAcquire())
    await Task.detached {
      let moved = box.take()
      #expect(limiter.status.inFlight == 1)
      moved?.release()
    }.value
    #expect(limiter.isQuiet)
  }

  @Test("is free when the body ends, though the task's handle and result are kept")
  func handleIsKept() async throws {
    let limiter = ConcurrencyLimiter(limit: 1)
    let task = Task { try await limiter.withPermit { [1, 2, 3] } }
    let result = try await task.value
    #expect(limiter.hasPermit())
    withExtendedLifetime((task, result)) {}
  }

  @Test("is free after a body that throws, also before its first suspension")
  func throwingBody() async {
    let limiter = ConcurrencyLimiter(limit: 1)
    await #expect(throws: Boom(offset: 1)) {
      try await limiter.withPermit { throw Boom(offset: 1) }
    }
    await #expect(throws: Boom(offset: 2)) {
      try await limiter.withPermit {
        await Task.yield()
        throw Boom(offset: 2)
      }
    }
    #expect(limiter.isQuiet)
  }

  @Test("outlives the last reference to its limiter")
  func outlivesLimiter() {
    var limiter: ConcurrencyLimiter? = ConcurrencyLimiter(limit: 1)
    weak let storage = limiter?.storage
    let permit = limiter?.tryAcquire()
    limiter = nil
    #expect(storage != nil)
    permit?.release()
    #expect(storage == nil)
  }

  @Test("has its weight, and what is heavier than the limit holds all of it")
  func weights() async throws {
    let limiter = ConcurrencyLimiter(limit: 3)
    let all = try await limiter.acquire(weight: 100)
    #expect(limiter.status.inFlight == 3)
    all.release()
    let two = try await limiter.acquire(weight: 2)
    #expect(!limiter.hasPermit(weight: 2))
    #expect(limiter.hasPermit())
    two.release()
    #expect(limiter.isQuiet)
  }

  @Test("is there before a body is entered, and 64 that come at once are four in flight")
  func peak() async {
    let limiter = ConcurrencyLimiter(limit: 4)
    let probe = InFlightProbe()
    await (0..<64).concurrentForEach(limit: .max) { _ in
      try? await limiter.withPermit {
        _ = await probe.body { await probe.waitUntilStarted(4) }
      }
    }
    #expect(probe.peak == 4)
    #expect(probe.counts.ended == 64)
    #expect(limiter.isQuiet)
  }

  @Test("lets a waiter start in the step of its release")
  func noPolling() throws {
    let limiter = ConcurrencyLimiter(limit: 1)
    let executor = SteppingExecutor(seed: 1)
    let log = Log<String>()
    _ = try executor.run {
      let permit = try await limiter.acquire()
      let waiter = Task(executorPreference: executor) {
        try await limiter.withPermit { log.add("started") }
      }
      await limiter.waitUntilWaiting(1)
      permit.release()
      // The waiter is all there is to step: it is awaited, and by nobody's clock or poll.
      try await waiter.value
      log.add("ended")
    }
    #expect(log.events == ["started", "ended"])
  }

  @Test("comes in the order of asking, for five hundred of the same priority")
  func order() throws {
    let limiter = ConcurrencyLimiter(limit: 1)
    let executor = SteppingExecutor(seed: 1)
    let log = Log<Int>()
    _ = try executor.run {
      let permit = try await limiter.acquire()
      var tasks: [Task<Void, any Error>] = []
      for number in 0..<500 {
        tasks.append(
          Task(executorPreference: executor) { try await limiter.withPermit { log.add(number) } })
        await limiter.waitUntilWaiting(number + 1)
      }
      permit.release()
      for task in tasks { try await task.value }
    }
    #expect(log.events == Array(0..<500))
  }

  @Test("lets a body run in its caller's isolation, with its caller's task-local values")
  @MainActor func isolation() async throws {
    let limiter = ConcurrencyLimiter(limit: 1)
    var count = 0
    try await PermitTests.$word.withValue("here") {
      try await limiter.withPermit {
        MainActor.assertIsolated()
        count += 1
        #expect(PermitTests.word == "here")
      }
    }
    #expect(count == 1)
  }

  @TaskLocal static var word = ""

  /// What carries a permit to another task.
  private final class Box: Sendable {
    private let permit: Mutex<Permit?>

    init(_ permit: consuming sending Permit?) { self.permit = Mutex(permit) }

    func take() -> Permit? { permit.withLock { $0.take() } }
  }
}
