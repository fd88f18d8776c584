// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("The priority of who waits for a permit", .timeLimit(.minutes(1)))
struct LimiterPriorityTests {
  @Test("decides who comes first, and among equals who came first does")
  func order() throws {
    let limiter = ConcurrencyLimiter(limit: 1)
    let executor = SteppingExecutor(seed: 1)
    let log = Log<Int>()
    _ = try executor.run {
      let permit = try await limiter.acquire()
      let priorities: [TaskPriority] = [.low, .high, .medium, .high, .low, .medium]
      var tasks: [Task<Void, any Error>] = []
      for (number, priority) in priorities.enumerated() {
        tasks.append(
          Task(executorPreference: executor) {
            try await limiter.withPermit(priority: priority) { log.add(number) }
          })
        await limiter.waitUntilWaiting(number + 1)
      }
      permit.release()
      for task in tasks { try await task.value }
    }
    #expect(log.events == [1, 3, 2, 5, 0, 4])
  }

  @Test("is the task's own, and when the task is raised, its waiter moves forward")
  func raised() throws {
    let limiter = ConcurrencyLimiter(limit: 1)
    let executor = SteppingExecutor(seed: 1)
    let log = Log<String>()
    _ = try executor.run {
      let permit = try await limiter.acquire()
      var tasks: [Task<Void, any Error>] = []
      for (name, priority) in [("medium", TaskPriority.medium), ("low", .low), ("raised", .low)] {
        tasks.append(
          Task(executorPreference: executor, priority: priority) {
            try await limiter.withPermit { log.add(name) }
          })
        await limiter.waitUntilWaiting(tasks.count)
      }
      let awaited = tasks[2]
      let high = Task(executorPreference: executor, priority: .high) {
        log.add("awaits")
        try await awaited.value
      }
      while log.events.isEmpty { await Task.yield() }
      permit.release()
      for task in tasks { try await task.value }
      try await high.value
    }
    #expect(log.events == ["awaits", "raised", "medium", "low"])
  }

  @Test("of all children is raised with the task that waits for them")
  func children() throws {
    let limiter = ConcurrencyLimiter(limit: 1)
    let executor = SteppingExecutor(seed: 1)
    let log = Log<String>()
    _ = try executor.run {
      let permit = try await limiter.acquire()
      let medium = Task(executorPreference: executor, priority: .medium) {
        try await limiter.withPermit { log.add("medium") }
      }
      await limiter.waitUntilWaiting(1)
      let parent = Task(executorPreference: executor, priority: .background) {
        await withTaskGroup { group in
          for _ in 0..<10 {
            group.addTask { try? await limiter.withPermit { log.add("child") } }
          }
        }
      }
      await limiter.waitUntilWaiting(11)
      let high = Task(executorPreference: executor, priority: .high) {
        log.add("awaits")
        await parent.value
      }
      while log.events.isEmpty { await Task.yield() }
      permit.release()
      await high.value
      try await medium.value
    }
    #expect(log.events == ["awaits"] + Array(repeating: "child", count: 10) + ["medium"])
  }

  @Test("does not fall back when a task is raised to less than was asked for")
  func askedForMore() throws {
    let limiter = ConcurrencyLimiter(limit: 1)
    let executor = SteppingExecutor(seed: 1)
    let log = Log<String>()
    _ = try executor.run {
      let permit = try await limiter.acquire()
      let medium = Task(executorPreference: executor) {
        try await limiter.withPermit(priority: .medium) { log.add("medium") }
      }
      await limiter.waitUntilWaiting(1)
      let asked = Task(executorPreference: executor, priority: .background) {
        try await limiter.withPermit(priority: .high) { log.add("asked for high") }
      }
      await limiter.waitUntilWaiting(2)
      let low = Task(executorPreference: executor, priority: .low) {
        log.add("awaits")
        try await asked.value
      }
      while log.events.isEmpty { await Task.yield() }
      permit.release()
      for task in [medium, asked, low] { try await task.value }
    }
    #expect(log.events == ["awaits", "asked for high", "medium"])
  }
}
