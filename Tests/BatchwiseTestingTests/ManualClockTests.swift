// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@Suite("A manual clock", .timeLimit(.minutes(1)))
struct ManualClockTests {
  /// Sleeps until each moment in a task of its own, begun in the order given, and logs who woke.
  private func sleepers(
    _ seconds: [Int], by clock: ManualClock, on executor: SteppingExecutor, into log: Watched<[Int]>
  ) async -> [Task<Void, any Error>] {
    var tasks: [Task<Void, any Error>] = []
    for (index, second) in seconds.enumerated() {
      tasks.append(
        Task(executorPreference: executor) {
          try await clock.sleep(until: ManualClock.Instant(sinceStart: .seconds(second)))
          log.update { $0.append(index) }
        })
      while executor.step() {}
    }
    return tasks
  }

  @Test("stands still until it is moved, and never goes back")
  func standsStill() {
    let clock = ManualClock()
    #expect(clock.now.sinceStart == .zero)
    clock.advance(by: .seconds(3))
    #expect(clock.now.sinceStart == .seconds(3))
    clock.advance(to: ManualClock.Instant(sinceStart: .seconds(1)))
    clock.advance(by: .seconds(-1))
    clock.advance(by: .zero)
    #expect(clock.now.sinceStart == .seconds(3))
  }

  @Test("wakes whom a move reaches, by deadline and then by arrival, and nobody else")
  func order() async throws {
    let clock = ManualClock()
    let executor = SteppingExecutor(seed: 0)
    let log = Watched<[Int]>([])
    let tasks = await sleepers([5, 2, 9, 2, 4], by: clock, on: executor, into: log)
    #expect(clock.deadlines.map(\.sinceStart) == [2, 2, 4, 5, 9].map { .seconds($0) })
    #expect(clock.sleeperCount == 5)

    clock.advance(by: .seconds(1))
    #expect(clock.sleeperCount == 5)
    clock.advance(by: .seconds(4))
    #expect(clock.deadlines.map(\.sinceStart) == [.seconds(9)])
    while executor.step() {}
    #expect(Set(log.value) == [0, 1, 3, 4])
    clock.advance(to: ManualClock.Instant(sinceStart: .seconds(9)))
    while executor.step() {}
    for task in tasks { try await task.value }
    #expect(log.value.last == 2)
  }

  @Test("resumes in the order of waking, as a queue that is first in, first out shows")
  func resumptions() async throws {
    let clock = ManualClock()
    let queue = FIFOExecutor()
    let log = Watched<[Int]>([])
    for (index, second) in [5, 2, 9, 2, 4].enumerated() {
      Task(executorPreference: queue) {
        try await clock.sleep(until: ManualClock.Instant(sinceStart: .seconds(second)))
        log.update { $0.append(index) }
      }
    }
    queue.runAll()
    clock.advance(by: .seconds(9))
    queue.runAll()
    #expect(log.value == [1, 3, 4, 0, 2])
  }

  @Test("does not suspend for a deadline that is not in the future")
  func past() async throws {
    let clock = ManualClock()
    clock.advance(by: .seconds(2))
    try await clock.sleep(until: clock.now)
    try await clock.sleep(until: ManualClock.Instant(sinceStart: .seconds(1)))
    try await clock.sleep(for: .seconds(-1))
    #expect(clock.sleeperCount == 0)
  }

  @Test("throws at once in a task that is cancelled, and keeps nothing of it")
  func cancellation() async {
    let clock = ManualClock()
    let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
    await clock.waitForSleepers(1)
    sleeper.cancel()
    await #expect(throws: CancellationError.self) { try await sleeper.value }
    #expect(clock.deadlines.isEmpty)

    let alreadyCancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(for: .zero)
    }
    await #expect(throws: CancellationError.self) { try await alreadyCancelled.value }
    clock.advance(by: .seconds(1))
  }

  @Test("takes a cancelled sleeper out of the middle, and wakes the others")
  func oneOfThree() async throws {
    let clock = ManualClock()
    let executor = SteppingExecutor(seed: 1)
    let log = Watched<[Int]>([])
    let tasks = await sleepers([1, 1, 1], by: clock, on: executor, into: log)
    tasks[1].cancel()
    #expect(clock.sleeperCount == 2)
    clock.advance(by: .seconds(1))
    while executor.step() {}
    #expect(log.value.sorted() == [0, 2])
    await #expect(throws: CancellationError.self) { try await tasks[1].value }
  }

  @Test("wakes each sleeper once when moves and cancellations meet on many threads")
  func race() async {
    for _ in 0..<200 {
      let clock = ManualClock()
      let tasks = (0..<8).map { _ in Task { try await clock.sleep(for: .seconds(1)) } }
      await withTaskGroup { group in
        for task in tasks { group.addTask { task.cancel() } }
        group.addTask { clock.advance(by: .seconds(1)) }
      }
      for task in tasks { _ = await task.result }
      #expect(clock.sleeperCount == 0)
    }
  }

  @Test("tells a test when enough tasks sleep, and lets it go when it is cancelled")
  func waiting() async throws {
    let clock = ManualClock()
    let tasks = (0..<5).map { second in Task { try await clock.sleep(for: .seconds(second + 1)) } }
    await clock.waitForSleepers(5)
    let waiter = Task { await clock.waitForSleepers(6) }
    waiter.cancel()
    await waiter.value
    clock.advance(by: .seconds(5))
    for task in tasks { try await task.value }
  }
}
