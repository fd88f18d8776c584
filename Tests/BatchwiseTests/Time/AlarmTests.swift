// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("An alarm", .timeLimit(.minutes(2)))
struct AlarmTests {
  @Test("calls each action once, at its deadline and in order, with one sleeper")
  func actions() async {
    let clock = ManualClock()
    let alarm = Alarm(Timeline(clock))
    let called = Watched<[Int]>([])
    for second in [1, 3, 5, 5] {
      alarm.set(at: .seconds(second)) { called.update { $0.append(second) } }
    }
    await clock.waitForSleepers(1)
    #expect(clock.deadlines.map(\.sinceStart) == [.seconds(1)])
    clock.advance(by: .seconds(1))
    await called.wait { $0 == [1] }
    await clock.waitForSleepers(1)
    #expect(clock.deadlines.map(\.sinceStart) == [.seconds(3)])
    clock.advance(by: .seconds(9))
    await called.wait { $0 == [1, 3, 5, 5] }
    #expect(clock.sleeperCount == 0)
    #expect(alarm.count == 0)
  }

  @Test("calls the action of a deadline that has passed")
  func past() async {
    let clock = ManualClock()
    clock.advance(by: .seconds(5))
    let alarm = Alarm(Timeline(clock))
    #expect(alarm.now == .zero)
    let called = Watched(0)
    alarm.set(at: .seconds(-1)) { called.update { $0 += 1 } }
    alarm.set(at: .zero) { called.update { $0 += 1 } }
    await called.wait { $0 == 2 }
  }

  @Test("does not call the action of a deadline that was cancelled")
  func cancelledDeadline() async {
    let clock = ManualClock()
    let alarm = Alarm(Timeline(clock))
    let called = Watched<[Int]>([])
    let first = alarm.set(at: .seconds(1)) { called.update { $0.append(1) } }
    alarm.set(at: .seconds(2)) { called.update { $0.append(2) } }
    #expect(alarm.cancel(first))
    #expect(!alarm.cancel(first))
    await clock.waitForSleepers(1)
    clock.advance(by: .seconds(1))
    await clock.waitForSleepers(1)
    clock.advance(by: .seconds(1))
    await called.wait { !$0.isEmpty }
    #expect(called.value == [2])
  }

  @Test("ends its sleep when nobody holds it any more, and calls nothing")
  func owner() async {
    let clock = ManualClock()
    weak var released: Alarm?
    do {
      let alarm = Alarm(Timeline(clock))
      released = alarm
      alarm.set(at: .seconds(1)) { Issue.record("called without an alarm") }
      await clock.waitForSleepers(1)
    }
    #expect(released == nil)
    #expect(clock.sleeperCount == 0)
    clock.advance(by: .seconds(1))
  }

  @Test("is one for the continuous clock, and a new one for any other")
  func sharing() {
    #expect(Alarm.shared(for: ContinuousClock()) === Alarm.shared(for: ContinuousClock()))
    let clock = ManualClock()
    #expect(Alarm.shared(for: clock) !== Alarm.shared(for: clock))
  }

  @Test("sleeps on the executor of the task that needs the sleep, so that time can be stepped")
  func stepped() async throws {
    for seed in 0..<2_000 as Range<UInt64> {
      await Task.yield()
      var generator = SeededGenerator(seed: seed)
      let seconds = (0..<5).map { _ in Int.random(in: 0...6, using: &generator) }
      let clock = ManualClock()
      let log = Watched<[Duration]>([])
      _ = try SteppingExecutor(seed: seed).run(clock: clock) {
        let alarm = Alarm(Timeline(clock))
        try await withThrowingTaskGroup { group in
          for second in seconds {
            group.addTask {
              try await alarm.sleep(until: .seconds(second))
              #expect(alarm.now == .seconds(second))
              log.update { $0.append(clock.now.sinceStart) }
            }
          }
          try await group.waitForAll()
        }
        #expect(alarm.count == 0)
      }
      #expect(log.value == seconds.sorted().map { .seconds($0) }, "seed \(seed)")
      #expect(clock.sleeperCount == 0, "seed \(seed)")
    }
  }

  @Test("ends a sleep with its task at any step, and keeps nothing of it")
  func cancelledSleep() async throws {
    for seed in 0..<1_000 as Range<UInt64> {
      await Task.yield()
      let clock = ManualClock()
      let alarm = Alarm(Timeline(clock))
      let step = Int(seed % 6)
      let (result, _) = try SteppingExecutor(seed: seed).run(clock: clock, cancellingAfter: step) {
        () async throws(CancellationError) in
        try await alarm.sleep(until: .seconds(1))
      }
      if case .failure = result { #expect(clock.now.sinceStart == .zero, "seed \(seed)") }
      if step == 0 { #expect(throws: CancellationError.self) { try result.get() } }
      #expect(alarm.count == 0)
    }
  }

  @Test("throws for a task that is cancelled already, even if the deadline has passed")
  func alreadyCancelled() async {
    let alarm = Alarm(Timeline(ManualClock()))
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await alarm.sleep(until: .zero)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(alarm.count == 0)
  }

  @Test("wakes by the real clock, and takes a deadline that lies beyond all clocks")
  func real() async throws {
    let alarm = Alarm.shared(for: ContinuousClock())
    let never = alarm.set(at: .seconds(Int64.max)) { Issue.record("the end of time has come") }
    let begin = ContinuousClock.now
    try await alarm.sleep(until: alarm.now + .milliseconds(20))
    #expect(ContinuousClock.now - begin >= .milliseconds(20))
    #expect(alarm.cancel(never))
  }

  @Test("loses no deadline when many threads set, cancel and sleep")
  func race() async throws {
    let alarm = Alarm(Timeline(ContinuousClock()))
    await withTaskGroup { group in
      for task in 0..<8 {
        group.addTask {
          var generator = SeededGenerator(seed: UInt64(task))
          for _ in 0..<300 {
            let delay = Duration.microseconds(Int.random(in: 0...800, using: &generator))
            if Bool.random(using: &generator) {
              alarm.cancel(alarm.set(at: alarm.now + delay) {})
            } else {
              try? await alarm.sleep(until: alarm.now + delay)
            }
          }
        }
      }
    }
    #expect(alarm.count == 0)
  }
}
