// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@Suite("A stepping executor", .timeLimit(.minutes(1)))
struct SteppingExecutorTests {
  /// Three children that log their number at each of three steps.
  private func schedule(_ seed: UInt64) throws -> [Int] {
    let log = Watched<[Int]>([])
    _ = try SteppingExecutor(seed: seed).run {
      await withTaskGroup { group in
        for child in 0..<3 {
          group.addTask {
            for _ in 0..<3 {
              log.update { $0.append(child) }
              await Task.yield()
            }
          }
        }
      }
    }
    return log.value
  }

  @Test("repeats the schedule of a seed, and has others for other seeds")
  func seeds() throws {
    var schedules: Set<[Int]> = []
    for seed in 0..<200 as Range<UInt64> {
      let once = try schedule(seed)
      #expect(try schedule(seed) == once)
      schedules.insert(once)
    }
    #expect(schedules.count > 50)
  }

  @Test("repeats the schedule of a seed when a gate lets many pass at once")
  func gate() throws {
    func schedule() throws -> [Int] {
      let gate = Gate()
      let log = Watched<[Int]>([])
      _ = try SteppingExecutor(seed: 5).run {
        await withTaskGroup { group in
          for child in 0..<20 {
            group.addTask {
              await gate.pass()
              log.update { $0.append(child) }
            }
          }
          for _ in 0..<30 { await Task.yield() }
          gate.open()
        }
      }
      return log.value
    }
    let once = try schedule()
    for _ in 0..<20 { #expect(try schedule() == once) }
  }

  @Test("returns what the operation returns or throws")
  func result() throws {
    struct Boom: Error {}
    let executor = SteppingExecutor(seed: 0)
    #expect(try executor.run { 7 }.result.get() == 7)
    #expect(throws: Boom.self) { try executor.run { throw Boom() }.result.get() }
  }

  @Test("finds a deadlock when nobody can go on, with the seed that finds it again")
  func deadlock() {
    let gate = Gate()
    let deadlock = #expect(throws: SteppingExecutor.Deadlock.self) {
      try SteppingExecutor(seed: 42).run { await gate.pass() }
    }
    #expect(deadlock?.seed == 42)
    gate.open()
  }

  @Test("cancels after the given number of steps")
  func cancellation() throws {
    let rounds = try (0...6).map { step in
      let rounds = Watched(0)
      _ = try SteppingExecutor(seed: 0).run(cancellingAfter: step) {
        while !Task.isCancelled {
          rounds.update { $0 += 1 }
          await Task.yield()
        }
      }
      return rounds.value
    }
    #expect(rounds.first == 0)
    #expect(rounds == rounds.sorted())
    #expect(Set(rounds).count >= 3)
  }

  @Test("cancels when everybody waits, and goes on")
  func idle() throws {
    let gate = Gate()
    var isIdle = false
    let (result, _) = try SteppingExecutor(seed: 0).run(cancelling: { isIdle = true }) {
      try await gate.passUnlessCancelled()
    }
    #expect(throws: CancellationError.self) { try result.get() }
    #expect(isIdle)
  }

  @Test("moves the clock to the earliest deadline when everybody sleeps")
  func virtualTime() throws {
    for seed in 0..<200 as Range<UInt64> {
      let clock = ManualClock()
      let log = Watched<[(child: Int, at: Duration)]>([])
      _ = try SteppingExecutor(seed: seed).run(clock: clock) {
        try await withThrowingTaskGroup { group in
          for child in 1...3 {
            group.addTask {
              for _ in 0..<2 {
                try await clock.sleep(for: .seconds(10 * child))
                log.update { $0.append((child, clock.now.sinceStart)) }
              }
            }
          }
          try await group.waitForAll()
        }
      }
      #expect(log.value.map(\.at) == [10, 20, 20, 30, 40, 60].map { .seconds($0) })
      #expect(log.value.filter { $0.child == 3 }.map(\.at) == [.seconds(30), .seconds(60)])
    }
  }

  @Test("finds a deadlock beside a clock that nobody sleeps by")
  func deadlockInVirtualTime() {
    let clock = ManualClock()
    let gate = Gate()
    #expect(throws: SteppingExecutor.Deadlock.self) {
      try SteppingExecutor(seed: 0).run(clock: clock) {
        try await clock.sleep(for: .seconds(1))
        await gate.pass()
      }
    }
    #expect(clock.now.sinceStart == .seconds(1))
    gate.open()
  }

  @Test("does not move the clock for those who outlive the operation")
  func outlived() throws {
    let clock = ManualClock()
    let executor = SteppingExecutor(seed: 0)
    let sleeper = Task(executorPreference: executor) { try await clock.sleep(for: .seconds(9)) }
    _ = try executor.run(clock: clock) { try await clock.sleep(for: .seconds(1)) }
    #expect(clock.now.sinceStart == .seconds(1))
    #expect(clock.deadlines.map(\.sinceStart) == [.seconds(9)])
    sleeper.cancel()
    while executor.step() {}
    #expect(clock.sleeperCount == 0)
  }

  @Test("reaches a sleeper by cancellation before its deadline")
  func cancelledSleep() throws {
    let clock = ManualClock()
    let (result, _) = try SteppingExecutor(seed: 0).run(clock: clock, cancellingAfter: 1) {
      try await clock.sleep(for: .seconds(1))
    }
    #expect(throws: CancellationError.self) { try result.get() }
    #expect(clock.now.sinceStart == .zero)
  }
}
