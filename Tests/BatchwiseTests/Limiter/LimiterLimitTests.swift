// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("The limit of a limiter", .timeLimit(.minutes(1)))
struct LimiterLimitTests {
  /// Tasks that each hold a permit until the gate is open, in the order of their numbers.
  private func hold(
    _ limiter: ConcurrencyLimiter, count: Int, on executor: SteppingExecutor, probe: InFlightProbe,
    gate: @escaping @Sendable (Int) async -> Void
  ) -> [Task<Void, any Error>] {
    (0..<count).map { number in
      Task(executorPreference: executor) {
        try await limiter.withPermit { await probe.body { await gate(number) } }
      }
    }
  }

  @Test("lets all start who now fit when it is raised, without anybody ending")
  func raised() throws {
    let limiter = ConcurrencyLimiter(limit: 1)
    let executor = SteppingExecutor(seed: 1)
    _ = try executor.run {
      let (probe, gate) = (InFlightProbe(), Gate())
      let tasks = hold(limiter, count: 4, on: executor, probe: probe) { _ in await gate.pass() }
      await probe.waitUntilStarted(1)
      await limiter.waitUntilWaiting(3)
      limiter.setLimit(4)
      await probe.waitUntilStarted(4)
      gate.open()
      for task in tasks { try await task.value }
    }
    #expect(limiter.isQuiet)
  }

  @Test("interrupts nobody when it is lowered, and starts nobody until enough have ended")
  func lowered() throws {
    let limiter = ConcurrencyLimiter(limit: 10)
    let executor = SteppingExecutor(seed: 1)
    _ = try executor.run {
      let probe = InFlightProbe()
      let permits = Log<Int>()
      let gates = (0..<12).map { _ in Gate() }
      let started = Log<Int>()
      let tasks = hold(limiter, count: 12, on: executor, probe: probe) { number in
        started.add(number)
        await gates[number].pass()
        if !Task.isCancelled { permits.add(number) }
      }
      await probe.waitUntilStarted(10)
      await limiter.waitUntilWaiting(2)
      limiter.setLimit(3)
      #expect(limiter.status == .init(limit: 3, inFlight: 10, waiting: 2))
      let first = started.events
      for (index, number) in first.prefix(7).enumerated() {
        gates[number].open()
        await probe.waitUntilEnded(index + 1)
        #expect(probe.counts.started == 10)
      }
      gates[first[7]].open()
      await probe.waitUntilStarted(11)
      #expect(limiter.status.inFlight == 3)
      for gate in gates { gate.open() }
      for task in tasks { try await task.value }
      // None was cancelled by it.
      #expect(permits.events.count == 12)
    }
    #expect(limiter.isQuiet)
  }

  @Test("of one lets exactly one at a time go on, though four ran before")
  func loweredToOne() throws {
    let limiter = ConcurrencyLimiter(limit: 4)
    let executor = SteppingExecutor(seed: 1)
    _ = try executor.run {
      let (probe, gate, later) = (InFlightProbe(), Gate(), InFlightProbe())
      let tasks = hold(limiter, count: 24, on: executor, probe: probe) { _ in
        guard limiter.status.limit == 1 else { return await gate.pass() }
        await later.body { await Task.yield() }
      }
      await probe.waitUntilStarted(4)
      await limiter.waitUntilWaiting(20)
      limiter.setLimit(1)
      gate.open()
      for task in tasks { try await task.value }
      #expect(later.counts.started == 20)
      #expect(later.peak == 1)
    }
  }

  @Test("of zero is a closed gate: those in flight end, nobody starts until it is raised")
  func zero() throws {
    let limiter = ConcurrencyLimiter(limit: 0)
    let executor = SteppingExecutor(seed: 1)
    _ = try executor.run {
      #expect(!limiter.hasPermit())
      let probe = InFlightProbe()
      let tasks = hold(limiter, count: 5, on: executor, probe: probe) { number in
        // Closed by the first that runs, in its own step.
        limiter.setLimit(0)
        await Task.yield()
      }
      await limiter.waitUntilWaiting(5)
      limiter.setLimit(1)
      await probe.waitUntilEnded(1)
      for _ in 0..<20 { await Task.yield() }
      #expect(limiter.status == .init(limit: 0, inFlight: 0, waiting: 4))
      for ended in 2...5 {
        limiter.setLimit(1)
        await probe.waitUntilEnded(ended)
      }
      for task in tasks { try await task.value }
      #expect(probe.peak == 1)
    }
    #expect(limiter.isQuiet)
  }

  @Test("can be changed from many threads while all flows, and nothing is lost")
  func threads() async {
    let limiter = ConcurrencyLimiter(limit: 3)
    let probe = InFlightProbe()
    await withTaskGroup { group in
      for thread in 0..<8 {
        group.addTask {
          for number in 0..<200 { limiter.setLimit((thread + number) % 6) }
        }
      }
      for _ in 0..<1000 {
        group.addTask { try? await limiter.withPermit { await probe.body { await Task.yield() } } }
      }
      while probe.counts.ended < 1000 {
        limiter.setLimit(5)
        await Task.yield()
      }
    }
    #expect(probe.counts.ended == 1000)
    #expect(probe.peak <= 5)
    #expect(limiter.isQuiet)
  }

  @Test("traps if it is negative, and so does a weight below one, with the value in the message")
  func traps() async throws {
    let created = try await #require(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) { _ = ConcurrencyLimiter(limit: -1) }
    #expect(text(created).contains("a limit cannot be negative, but is -1"))

    let changed = try await #require(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) { ConcurrencyLimiter(limit: 1).setLimit(-2) }
    #expect(text(changed).contains("a limit cannot be negative, but is -2"))

    let weight = try await #require(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) { _ = ConcurrencyLimiter(limit: 1).tryAcquire(weight: 0) }
    #expect(text(weight).contains("a weight must be at least 1, but is 0"))

    let keyed = try await #require(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) { _ = KeyedLimiter<Int>(limit: 1, limitPerKey: -3) }
    #expect(text(keyed).contains("a limit for each key cannot be negative, but is -3"))

    let ofKey = try await #require(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) { KeyedLimiter<Int>(limit: 1, limitPerKey: 1).setLimit(-4, for: 1) }
    #expect(text(ofKey).contains("a limit for a key cannot be negative, but is -4"))
  }

  private func text(_ result: ExitTest.Result) -> String {
    String(decoding: result.standardErrorContent, as: UTF8.self)
  }
}
