// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Synchronization
import Testing

@testable import Batchwise

/// A queue whose items, waiting and time are all taken step by step.
struct SteppedQueue: Sendable {
  let executor: SteppingExecutor
  let clock = ManualClock()
  let queue: TaskQueue<Int>

  init(seed: UInt64, limit: Int, options: TaskQueueOptions = TaskQueueOptions()) {
    executor = SteppingExecutor(seed: seed)
    queue = TaskQueue(
      limit: limit, options: options, alarm: Alarm(Timeline(clock), executor: executor),
      executor: executor)
  }

  func run<Success: Sendable>(
    cancellingAfter step: Int? = nil,
    _ operation: @escaping @Sendable (TaskQueue<Int>, ManualClock) async throws -> Success
  ) throws -> (result: Result<Success, any Error>, steps: Int) {
    try executor.run(clock: clock, cancellingAfter: step) { [queue, clock] in
      try await operation(queue, clock)
    }
  }
}

@Suite("A task queue, step by step", .timeLimit(.minutes(2)))
struct SteppedTaskQueueTests {
  @Test("Every handle has its value, in order, and the peak is the limit", arguments: 1...3)
  func allValues(limit: Int) async throws {
    for seed in 0..<1000 {
      await Task.yield()
      let probe = InFlightProbe()
      let (result, _) = try SteppedQueue(seed: UInt64(seed), limit: limit).run { queue, _ in
        let gate = Gate()
        let handles = (0..<6).map { number in
          queue.add {
            await probe.body {
              if number < limit { await gate.pass() }
              for _ in 0..<(number % 3) { await Task.yield() }
              return number
            }
          }
        }
        await probe.waitUntilStarted(limit)
        gate.open()
        var values: [Int] = []
        for handle in handles { values.append(try await handle.value) }
        try await queue.drain()
        return values
      }
      #expect(try result.get() == Array(0..<6), "seed \(seed)")
      #expect(probe.peak == limit, "seed \(seed)")
    }
  }

  @Test("Items start in the order of the calls when one is in flight at a time")
  func startOrder() async throws {
    for seed in 0..<500 {
      await Task.yield()
      let started = Mutex<[Int]>([])
      let (result, _) = try SteppedQueue(seed: UInt64(seed), limit: 1).run { queue, _ in
        for number in 0..<8 {
          queue.add {
            started.withLock { $0.append(number) }
            await Task.yield()
            return number
          }
        }
        try await queue.drain()
      }
      #expect(throws: Never.self) { try result.get() }
      #expect(started.withLock { $0 } == Array(0..<8), "seed \(seed)")
    }
  }

  @Test("The owner may be cancelled after any number of steps, and nothing is left")
  func cancelledScope() async throws {
    var stepOfCancellation = 0
    var hasReachedTheEnd = false
    while !hasReachedTheEnd {
      for seed in 0..<40 {
        await Task.yield()
        let world = SteppedQueue(seed: UInt64(seed), limit: 2)
        let probe = InFlightProbe()
        let (_, steps) = try world.run(cancellingAfter: stepOfCancellation) { queue, _ in
          try await withTaskQueue(queue) { queue in
            let handles = (0..<5).map { number in
              queue.add {
                try await probe.body {
                  for _ in 0..<3 {
                    try Task.checkCancellation()
                    await Task.yield()
                  }
                  return number
                }
              }
            }
            for handle in handles { _ = try await handle.value }
          }
        }
        #expect(world.queue.status.inFlight == 0)
        #expect(world.queue.status.waiting == 0)
        #expect(probe.counts.inFlight == 0)
        #expect(probe.peak <= 2)
        if seed == 0 { hasReachedTheEnd = stepOfCancellation > steps }
      }
      stepOfCancellation += 1
    }
    #expect(stepOfCancellation > 10)
  }

  @Test("An item can be cancelled at every moment, and its place is free afterwards")
  func cancelledItem() async throws {
    for seed in 0..<2000 {
      await Task.yield()
      let hasEntered = Mutex(false)
      let (result, _) = try SteppedQueue(seed: UInt64(seed), limit: 1).run { queue, _ in
        let first = queue.add {
          await Task.yield()
          return 1
        }
        let second = queue.add {
          hasEntered.withLock { $0 = true }
          try Task.checkCancellation()
          return 2
        }
        for _ in 0..<(seed % 5) { await Task.yield() }
        second.cancel()
        let third = queue.add { 3 }
        _ = try await first.value
        let end = try await second.result
        return (end.map { _ in true }, try await third.value)
      }
      let (second, third) = try result.get()
      #expect(third == 3)
      if case .failure(let error) = second { #expect(error is CancellationError, "seed \(seed)") }
      if case .success = second { #expect(hasEntered.withLock { $0 }) }
    }
  }

  @Test("Both cancelled in one step, and the next item runs")
  func runningAndWaitingCancelled() async throws {
    for seed in 0..<500 {
      await Task.yield()
      let (result, _) = try SteppedQueue(seed: UInt64(seed), limit: 1).run { queue, _ in
        let gate = Gate()
        let running = queue.add {
          try await gate.passUnlessCancelled()
          return 1
        }
        let waiting = queue.add { 2 }
        for _ in 0..<(seed % 4) { await Task.yield() }
        queue.cancelAll()
        let next = queue.add { 3 }
        let value = try await next.value
        return (value, try await running.result, try await waiting.result)
      }
      let (value, running, waiting) = try result.get()
      #expect(value == 3)
      #expect(throws: CancellationError.self) { try running.get() }
      #expect(throws: CancellationError.self) { try waiting.get() }
    }
  }

  @Test("An item whose timeout is over has failed, for its handle, its count and its event alike")
  func timeoutEvent() throws {
    for returns in [true, false] {
      let log = Mutex<[TaskQueueEvent.Kind]>([])
      let options = TaskQueueOptions { event in log.withLock { $0.append(event.kind) } }
      let (result, _) = try SteppedQueue(seed: 1, limit: 1, options: options).run { queue, clock in
        let late = queue.add(timeout: .seconds(1)) {
          do {
            try await clock.sleep(until: clock.now.advanced(by: .seconds(5)))
          } catch {
            if !returns { throw error }
          }
          return 1
        }
        return (try await late.result, queue.status.counts)
      }
      let (end, counts) = try result.get()
      #expect(throws: TaskQueueError(code: .timedOut, name: nil)) { try end.get() }
      #expect(counts.failed == 1 && counts.cancelled == 0 && counts.succeeded == 0)
      #expect(log.withLock { $0 } == [.added, .started, .ended(.failed)])
    }
  }

  @Test("A timeout counts from the start, and the place is free only when the item has ended")
  func timeout() async throws {
    for seed in 0..<300 {
      await Task.yield()
      let (result, _) = try SteppedQueue(seed: UInt64(seed), limit: 1).run { queue, clock in
        let slow = queue.add {
          try await clock.sleep(until: clock.now.advanced(by: .seconds(5)))
          return 1
        }
        let patient = queue.add(name: "patient", timeout: .seconds(1)) {
          try await clock.sleep(until: clock.now.advanced(by: .milliseconds(900)))
          return 2
        }
        let gate = Gate()
        let stubborn = queue.add(name: "stubborn", timeout: .seconds(1)) {
          await gate.pass()
          return 3
        }
        let values = (try await slow.value, try await patient.value)
        try await clock.sleep(until: clock.now.advanced(by: .seconds(3)))
        let overdue = queue.status.counts.overdue
        gate.open()
        let end = try await stubborn.result
        return (values, end, overdue, queue.status)
      }
      let (values, end, overdue, status) = try result.get()
      #expect(values == (1, 2))
      #expect(throws: TaskQueueError(code: .timedOut, name: "stubborn")) { try end.get() }
      #expect(overdue == 1)
      #expect(status.counts.overdue == 0 && status.counts.failed == 1)
    }
  }

  @Test("A timeout for waiting counts only while the item waits")
  func waitTimeout() async throws {
    for seed in 0..<300 {
      await Task.yield()
      let (result, _) = try SteppedQueue(seed: UInt64(seed), limit: 1).run { queue, clock in
        let slow = queue.add(waitTimeout: .seconds(1)) {
          try await clock.sleep(until: clock.now.advanced(by: .seconds(5)))
          return 1
        }
        let impatient = queue.add(name: "impatient", waitTimeout: .seconds(2)) { 2 }
        let end = try await impatient.result
        let moment = clock.now.sinceStart
        return (end, moment, try await slow.value)
      }
      let (end, moment, slow) = try result.get()
      #expect(throws: TaskQueueError(code: .waitedTooLong, name: "impatient")) { try end.get() }
      #expect(moment == .seconds(2))
      #expect(slow == 1)
    }
  }

  @Test("A rate holds back starts, and an item says until when")
  func rate() throws {
    let options = TaskQueueOptions(rate: .slidingWindow(2, per: .seconds(1)))
    let (result, _) = try SteppedQueue(seed: 1, limit: 5, options: options).run { queue, clock in
      let starts = Mutex<[Duration]>([])
      let handles = (0..<5).map { number in
        queue.add {
          starts.withLock { $0.append(clock.now.sinceStart) }
          return number
        }
      }
      let state = handles[2].state
      try await queue.drain()
      return (state, starts.withLock { $0 })
    }
    let (state, starts) = try result.get()
    #expect(state == .waiting(.rate(in: .seconds(1))))
    #expect(starts == [.zero, .zero, .seconds(1), .seconds(1), .seconds(2)])
  }

  @Test("A producer that waits for room can be cancelled at every step, and others are untouched")
  func producers() async throws {
    for seed in 0..<1000 {
      await Task.yield()
      let options = TaskQueueOptions(backlog: .limited(to: 1))
      let (result, _) = try SteppedQueue(seed: UInt64(seed), limit: 1, options: options).run {
        queue, _ in
        let gate = Gate()
        let ran = Watched<Set<Int>>([])
        queue.add {
          await gate.pass()
          return 0
        }
        queue.add { 1 }
        return try await withThrowingTaskGroup(of: (Int, Bool).self) { group in
          for number in 2..<5 {
            group.addTask {
              do {
                try await queue.addWhenRoom {
                  ran.update { _ = $0.insert(number) }
                  return number
                }
                return (number, true)
              } catch is CancellationError {
                return (number, false)
              }
            }
          }
          for _ in 0..<(seed % 7) { await Task.yield() }
          if seed.isMultiple(of: 2) { group.cancelAll() }
          gate.open()
          var taken: Set<Int> = []
          for try await (number, isTaken) in group where isTaken { taken.insert(number) }
          try await queue.drain()
          return (taken, ran.value)
        }
      }
      let (taken, ran) = try result.get()
      #expect(taken == ran, "seed \(seed)")
      if !seed.isMultiple(of: 2) { #expect(taken == [2, 3, 4]) }
    }
  }

  @Test("Items read the task-local values of who added them, not of who freed the place")
  func taskLocals() async throws {
    for seed in 0..<100 {
      await Task.yield()
      let (result, _) = try SteppedQueue(seed: UInt64(seed), limit: 2).run { queue, _ in
        var handles: [TaskQueue<Int>.Handle] = []
        for number in 0..<20 {
          handles.append(
            Submitter.$number.withValue(number) {
              queue.add {
                await Task.yield()
                return Submitter.number
              }
            })
        }
        var values: [Int] = []
        for handle in handles { values.append(try await handle.value) }
        return values
      }
      #expect(try result.get() == Array(0..<20), "seed \(seed)")
    }
  }

  @Test("An item that pauses before it is tried again lends its place, and gets it back first")
  func retry() throws {
    for seed in 0..<300 {
      let (result, _) = try SteppedQueue(seed: UInt64(seed), limit: 1).run { queue, clock in
        let attempts = Mutex<[Duration]>([])
        let policy = RetryPolicy(attempts: 3, backoff: .constant(.seconds(5), jitter: .none))
        let flaky = queue.add(retry: policy) {
          let count = attempts.withLock { attempts in
            attempts.append(clock.now.sinceStart)
            return attempts.count
          }
          if count < 3 { throw Boom(offset: count) }
          return count
        }
        let other = queue.add { Int(clock.now.sinceStart / .milliseconds(1)) }
        let ranAt = try await other.value
        return (try await flaky.value, ranAt, attempts.withLock { $0 }, queue.status.inFlight)
      }
      let (value, ranAt, attempts, inFlight) = try result.get()
      #expect(value == 3 && ranAt == 0 && inFlight == 0)
      #expect(attempts == [.zero, .seconds(5), .seconds(10)])
    }
  }

  @Test("A barrier and one that pauses before a retry wait for each other")
  func barrierAndPause() throws {
    for seed in 0..<200 {
      let (result, _) = try SteppedQueue(seed: UInt64(seed), limit: 4).run { queue, clock in
        let log = Mutex<[String]>([])
        let policy = RetryPolicy(attempts: 2, backoff: .constant(.seconds(1), jitter: .none))
        @Sendable func attempt(_ name: String, _ counted: Counted) throws -> Int {
          let number = counted.count.withLock { count in
            count += 1
            return count
          }
          log.withLock { $0.append("\(name)\(number)") }
          if number == 1 { throw Boom(offset: 1) }
          return number
        }
        let (before, alone) = (Counted(), Counted())
        queue.add(retry: policy) { try attempt("before", before) }
        queue.add(isBarrier: true, retry: policy) { try attempt("alone", alone) }
        queue.add {
          log.withLock { $0.append("after") }
          return 0
        }
        try await queue.drain()
        return log.withLock { $0 }
      }
      #expect(try result.get() == ["before1", "before2", "alone1", "alone2", "after"])
    }
  }

  @Test("A gate that is closed lets items end that have started and are cancelled")
  func closedGate() throws {
    for seed in 0..<300 {
      let (result, _) = try SteppedQueue(seed: UInt64(seed), limit: 1).run { queue, _ in
        let gate = Gate()
        for _ in 0..<3 {
          queue.add {
            let inner = queue.add {
              gate.open()
              try await Gate().passUnlessCancelled()
              return 1
            }
            return (try? await inner.value) ?? 0
          }
        }
        await gate.pass()
        queue.setLimit(0)
        queue.cancelAll()
        try await queue.drain()
        return queue.status
      }
      let status = try result.get()
      #expect(status.inFlight == 0 && status.waiting == 0 && status.lending == 0, "seed \(seed)")
    }
  }

  @Test("One that wants its place back and has no room for its key does not hold back others")
  func returningPastAKey() throws {
    let options = TaskQueueOptions(limitPerKey: 1)
    let (result, _) = try SteppedQueue(seed: 1, limit: 2, options: options).run { queue, clock in
      let log = Mutex<[String]>([])
      @Sendable func note(_ text: String) { log.withLock { $0.append(text) } }
      @Sendable func pause(_ seconds: Int) async throws {
        try await clock.sleep(until: clock.now.advanced(by: .seconds(seconds)))
      }
      // Both give their place away and want it back at the same time.
      for key in ["a", "b"] {
        queue.add(key: key) {
          let inner = queue.add(priority: .high) {
            try await pause(1); return 0
          }
          _ = try await inner.value
          note("\(key) is back")
          return 0
        }
      }
      queue.add(key: "a") {
        try await pause(5); note("a's other"); return 0
      }
      try await queue.drain()
      return log.withLock { $0 }
    }
    #expect(try result.get() == ["b is back", "a's other", "a is back"])
  }

  @Test("An item may wait for room in its own backlog, and for what is in flight beside it")
  func waitsInside() throws {
    for seed in 0..<200 {
      let (result, _) = try SteppedQueue(seed: UInt64(seed), limit: 1).run { queue, _ in
        let outer = queue.add {
          for number in 0..<3 { queue.add { number } }
          try await queue.waitForCapacity(below: 1)
          try await queue.waitUntilNothingInFlight()
          return 7
        }
        let value = try await outer.value
        try await queue.drain()
        return (value, queue.status.inFlight)
      }
      #expect(try result.get() == (7, 0), "seed \(seed)")
    }
  }

  @Test("Items of a scope may add more after its body, and the scope waits for all")
  func growingScope() throws {
    for seed in 0..<200 {
      let world = SteppedQueue(seed: UInt64(seed), limit: 2)
      let (result, _) = try world.run { queue, _ in
        await withTaskQueue(queue) { queue in
          @Sendable func crawl(_ depth: Int) {
            queue.add {
              await Task.yield()
              if depth > 0 { for _ in 0..<2 { crawl(depth - 1) } }
              return depth
            }
          }
          crawl(3)
        }
        return queue.status.counts
      }
      let counts = try result.get()
      #expect(counts.succeeded == 15 && counts.refused == 0)
    }
  }

  @Test("Items that add to their own queue and wait never wait for themselves", arguments: 1...3)
  func nested(limit: Int) throws {
    for seed in 0..<300 {
      let peak = Mutex(0)
      let (result, _) = try SteppedQueue(seed: UInt64(seed), limit: limit).run { queue, _ in
        @Sendable func leaves(_ depth: Int) async throws -> Int {
          peak.withLock { $0 = max($0, queue.status.inFlight) }
          await Task.yield()
          if depth == 0 { return 1 }
          let left = queue.add { try await leaves(depth - 1) }
          let right = queue.add { try await leaves(depth - 1) }
          let sum = try await left.value + right.value
          peak.withLock { $0 = max($0, queue.status.inFlight) }
          return sum
        }
        let sum = try await queue.add { try await leaves(3) }.value
        try await queue.drain()
        return (sum, queue.status)
      }
      let (sum, status) = try result.get()
      #expect(sum == 8)
      #expect(status.inFlight == 0 && status.waiting == 0 && status.counts.succeeded == 15)
      #expect(peak.withLock { $0 } == limit, "seed \(seed)")
    }
  }

  @Test("An item whose child tasks wait for others of its queue lends its place to them")
  func nestedChildren() throws {
    for seed in 0..<500 {
      let (result, _) = try SteppedQueue(seed: UInt64(seed), limit: 1).run { queue, _ in
        let outer = queue.add {
          await withTaskGroup(of: Int.self) { group in
            for number in 1...3 {
              group.addTask { (try? await queue.add { number }.value) ?? 0 }
            }
            return await group.reduce(0, +)
          }
        }
        let sum = try await outer.value
        try await queue.drain()
        return (sum, queue.status.inFlight)
      }
      #expect(try result.get() == (6, 0), "seed \(seed)")
    }
  }

  @Test("An item that waits for room in its own full queue lends its place")
  func nestedAddWhenRoom() throws {
    for seed in 0..<300 {
      let options = TaskQueueOptions(backlog: .limited(to: 1))
      let (result, _) = try SteppedQueue(seed: UInt64(seed), limit: 1, options: options).run {
        queue, _ in
        let outer = queue.add {
          let inner = try await queue.addWhenRoom { 2 }
          return try await inner.value + 1
        }
        let other = queue.add { 1 }
        return try await (outer.value, other.value)
      }
      #expect(try result.get() == (3, 1), "seed \(seed)")
    }
  }

  @Test("An item that waits for a barrier it has added lends its place to it")
  func nestedBarrier() throws {
    for seed in 0..<300 {
      let (result, _) = try SteppedQueue(seed: UInt64(seed), limit: 2).run { queue, _ in
        let outer = queue.add { try await queue.add(isBarrier: true) { 2 }.value + 1 }
        let behind = queue.add { 1 }
        let values = try await (outer.value, behind.value)
        try await queue.drain()
        return (values.0, values.1, queue.status.inFlight)
      }
      #expect(try result.get() == (3, 1, 0), "seed \(seed)")
    }
  }

  @Test("A slow reader of the status gets the newest, and the end")
  func statusUpdates() async throws {
    for seed in 0..<200 {
      await Task.yield()
      let (result, _) = try SteppedQueue(seed: UInt64(seed), limit: 2).run { queue, _ in
        async let seen = Array(queue.statusUpdates)
        for number in 0..<10 {
          queue.add {
            await Task.yield()
            return number
          }
        }
        queue.finish()
        await queue.run()
        return await seen
      }
      let seen = try result.get()
      #expect(seen.last?.counts.succeeded == 10)
      #expect(seen.last?.isFinished == true)
      #expect(seen.count <= 40)
    }
  }
}

private final class Counted: Sendable {
  let count = Mutex(0)
}

private enum Submitter {
  @TaskLocal static var number = -1
}

extension Array {
  fileprivate init<Source: AsyncSequence>(_ source: Source) async
  where Source.Element == Element, Source.Failure == Never {
    self = []
    for await element in source { append(element) }
  }
}
