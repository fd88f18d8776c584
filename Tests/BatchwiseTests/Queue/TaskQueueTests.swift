// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Synchronization
import Testing

@testable import Batchwise

@Suite("A task queue", .timeLimit(.minutes(1)))
struct TaskQueueTests {
  /// Occupies one place until the gate opens.
  private func blockedQueue(
    limit: Int = 1, _ options: TaskQueueOptions = TaskQueueOptions()
  ) -> (queue: TaskQueue<Int>, gate: Gate) {
    let queue = TaskQueue<Int>(limit: limit, options: options)
    let gate = Gate()
    for _ in 0..<limit {
      queue.add {
        await gate.pass()
        return 0
      }
    }
    return (queue, gate)
  }

  @Test("is idle when it never had an item")
  func fresh() async throws {
    let queue = TaskQueue<Int>(limit: 1)
    try await queue.drain()
    try await queue.waitUntilNothingInFlight()
    try await queue.waitForCapacity(below: 1)
  }

  @Test("is over when it is finished and never had an item")
  func freshRun() async {
    let queue = TaskQueue<Int>(limit: 1)
    queue.finish()
    await queue.run()
  }

  @Test("keeps exactly its limit in flight on many threads", arguments: [1, 3, 16])
  func peak(limit: Int) async throws {
    let probe = InFlightProbe()
    let gate = Gate()
    let sum = try await withTaskQueue(of: Int.self, limit: limit) { queue in
      let handles = (0..<1000).map { number in
        queue.add {
          await probe.body {
            if number < limit { await gate.pass() }
            return number
          }
        }
      }
      await probe.waitUntilStarted(limit)
      gate.open()
      var sum = 0
      for handle in handles { sum += try await handle.value }
      return sum
    }
    #expect(sum == 499_500)
    #expect(probe.peak == limit)
  }

  @Test("refuses what does not fit, and says so", arguments: [0, 2])
  func refuse(capacity: Int) async throws {
    let (queue, gate) = blockedQueue(TaskQueueOptions(backlog: .limited(to: capacity)))
    let accepted = (0..<capacity).map { number in queue.add { number } }
    let refused = queue.add(name: "late") { 9 }
    await #expect(throws: TaskQueueError(code: .full, name: "late")) { try await refused.value }
    gate.open()
    for (number, handle) in accepted.enumerated() { #expect(try await handle.value == number) }
    try await queue.drain()
    #expect(try await queue.add { 7 }.value == 7)
  }

  @Test("drops the oldest or the newest that waits, never one in flight")
  func drop() async throws {
    for (overflow, survivors) in [
      (TaskQueueBacklog.Overflow.dropOldest, [2, 3]), (.dropNewest, [1, 3]),
    ] {
      let (queue, gate) = blockedQueue(
        TaskQueueOptions(backlog: .limited(to: 2, overflow: overflow)))
      let handles = (1...3).map { number in queue.add(name: "\(number)") { number } }
      gate.open()
      var values: [Int] = []
      for handle in handles {
        do {
          values.append(try await handle.value)
        } catch let error as TaskQueueError {
          #expect(error.code == .dropped)
        }
      }
      #expect(values == survivors)
    }
  }

  @Test("lets a producer wait for room, in the order of coming")
  func addWhenRoom() async throws {
    let (queue, gate) = blockedQueue(TaskQueueOptions(backlog: .limited(to: 1)))
    queue.add { 1 }
    async let handle = queue.addWhenRoom { 2 }
    while queue.status.offered == 0 { await Task.yield() }
    gate.open()
    #expect(try await handle.value == 2)
  }

  @Test("fails a producer that waits for room when it is finished")
  func addWhenRoomFinished() async throws {
    let (queue, gate) = blockedQueue(TaskQueueOptions(backlog: .limited(to: 0)))
    let producer = Task { try await queue.addWhenRoom(name: "p") { 2 } }
    while queue.status.offered == 0 { await Task.yield() }
    queue.finish()
    await #expect(throws: TaskQueueError(code: .finished, name: "p")) { try await producer.value }
    gate.open()
    await queue.run()
  }

  @Test("says why an item does not run")
  func hindrances() async throws {
    let (queue, gate) = blockedQueue(TaskQueueOptions(limitPerKey: 1))
    let byLimit = queue.add { 1 }
    #expect(byLimit.state == .waiting(.limit))
    queue.pause()
    #expect(byLimit.state == .waiting(.paused))
    queue.resume()
    queue.setLimit(3)
    _ = try await byLimit.value
    #expect(byLimit.state == .ended)
    let keyGate = Gate()
    let holder = queue.add(key: "host") {
      await keyGate.pass()
      return 2
    }
    let byKey = queue.add(key: "host") { 3 }
    #expect(byKey.state == .waiting(.key))
    #expect(holder.state == .inFlight)
    let other = queue.add(key: "other") { 4 }
    #expect(try await other.value == 4)
    let barrier = queue.add(isBarrier: true) { 5 }
    #expect(barrier.state == .waiting(.barrier))
    let behind = queue.add { 6 }
    #expect(behind.state == .waiting(.barrier))
    #expect(queue.items.map(\.state).filter { $0 == .inFlight }.count == 2)
    keyGate.open()
    gate.open()
    #expect(try await behind.value == 6)
  }

  @Test("pauses at once, also when an item asks for it, and what is in flight goes on")
  func pauseFromWithin() async throws {
    let queue = TaskQueue<Int>(limit: 4)
    queue.pause()
    let entered = Watched(0)
    for _ in 0..<4 {
      queue.add {
        queue.pause()
        return entered.update {
          $0 += 1; return $0
        }
      }
    }
    queue.setLimit(1)
    queue.resume()
    await entered.wait { $0 == 1 }
    try await queue.waitUntilNothingInFlight()
    #expect(queue.status.waiting == 3)
    #expect(queue.status.isPaused)
    queue.setLimit(4)
    queue.resume()
    try await queue.waitUntilNothingInFlight()
  }

  @Test("fails all that wait when they are dropped, and runs what is in flight to its end")
  func finishDropping() async throws {
    let (queue, gate) = blockedQueue()
    let handles = (0..<100).map { number in queue.add { number } }
    async let results = withTaskGroup(of: Bool.self) { group in
      for handle in handles {
        group.addTask { (try? await handle.value) == nil }
      }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    queue.finish(droppingWaiting: true)
    #expect(await results == 100)
    await #expect(throws: TaskQueueError(code: .finished, name: nil)) {
      try await queue.add { 1 }.value
    }
    queue.finish()
    gate.open()
    await queue.run()
    #expect(queue.status.counts.succeeded == 1)
    #expect(queue.status.counts.refused == 101)
  }

  @Test("returns from its owner's cancellation with everything over")
  func cancelledOwner() async throws {
    let queue = TaskQueue<Int>(limit: 1)
    let hasStarted = Gate()
    let handles = (0..<51).map { _ in
      queue.add {
        hasStarted.open()
        try await Gate().passUnlessCancelled()
        return 0
      }
    }
    let owner = Task { await queue.run() }
    await hasStarted.pass()
    owner.cancel()
    await owner.value
    for handle in handles {
      await #expect(throws: CancellationError.self) { try await handle.value }
    }
    #expect(queue.status.counts.cancelled == 51)
  }

  @Test("answers a caller that is cancelled already, at once and at every door")
  func alreadyCancelled() async {
    let (queue, gate) = blockedQueue(TaskQueueOptions(backlog: .limited(to: 1)))
    let waiting = queue.add { 1 }
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      await #expect(throws: CancellationError.self) { try await queue.drain() }
      await #expect(throws: CancellationError.self) {
        try await queue.waitUntilNothingInFlight()
      }
      await #expect(throws: CancellationError.self) {
        try await queue.waitForCapacity(below: 1)
      }
      await #expect(throws: CancellationError.self) { try await queue.addWhenRoom { 2 } }
      await #expect(throws: CancellationError.self) { try await waiting.value }
      var updates = queue.statusUpdates.makeAsyncIterator()
      #expect(await updates.next() == nil)
    }
    task.cancel()
    await task.value
    gate.open()
    await queue.run(finishing: true)
  }

  @Test("frees a place when the item ends, though its handle is kept")
  func keptHandle() async throws {
    let queue = TaskQueue<Int>(limit: 1)
    let first = queue.add { 1 }
    #expect(try await first.value == 1)
    #expect(queue.status.inFlight == 0)
    #expect(try await queue.add { 2 }.value == 2)
    withExtendedLifetime(first) {}
  }

  @Test("runs an item that adds another and waits for it, when there is room for both")
  func nestedWithRoom() async throws {
    let queue = TaskQueue<Int>(limit: 2)
    let outer = queue.add { try await queue.add { 1 }.value + 1 }
    #expect(try await outer.value == 2)
  }

  @Test("raises all items that an urgent task waits for, and they overtake the others")
  func escalation() async throws {
    let (queue, gate) = blockedQueue()
    let order = Mutex<[Int]>([])
    func add(_ number: Int) -> TaskQueue<Int>.Handle {
      queue.add(priority: .background) {
        order.withLock { $0.append(number) }
        return number
      }
    }
    let handles = (0..<10).map { add($0) }
    let urgent = Task(priority: .high) {
      try await withThrowingTaskGroup(of: Int.self) { group in
        for handle in handles[5...] { group.addTask { try await handle.value } }
        return try await group.reduce(0, +)
      }
    }
    while queue.items.filter({ $0.priority == .high }).count < 5 { await Task.yield() }
    gate.open()
    #expect(try await urgent.value == 35)
    for handle in handles { _ = try await handle.value }
    #expect(order.withLock { $0 } == [5, 6, 7, 8, 9, 0, 1, 2, 3, 4])
  }

  @Test("raises an item when the task that waits for it is raised itself")
  func escalationOfTheWaiter() async throws {
    let (queue, gate) = blockedQueue()
    let order = Mutex<[Int]>([])
    func add(_ number: Int) -> TaskQueue<Int>.Handle {
      queue.add(priority: .background) {
        order.withLock { $0.append(number) }
        return number
      }
    }
    let (first, second) = (add(1), add(2))
    let hasBegun = Gate()
    let waiter = Task(priority: .background) {
      hasBegun.open()
      return try await second.value
    }
    await hasBegun.pass()
    // Whoever awaits a task raises it to its own priority.
    let urgent = Task(priority: .high) { try await waiter.value }
    while queue.items.first(where: { $0.id == second.id })?.priority != .high {
      await Task.yield()
    }
    gate.open()
    #expect(try await urgent.value == 2)
    #expect(try await first.value == 1)
    #expect(order.withLock { $0 } == [2, 1])
  }

  @Test("tells events of which a log never shows more in flight than the limit")
  func events() async throws {
    let log = Mutex<[TaskQueueEvent]>([])
    let options = TaskQueueOptions { event in log.withLock { $0.append(event) } }
    await withTaskQueue(of: Int.self, limit: 3, options: options) { queue in
      for number in 0..<200 { queue.add(name: "\(number)") { number } }
    }
    var inFlight = 0
    var peak = 0
    for event in log.withLock({ $0 }) {
      switch event.kind {
      case .added: break
      case .started: inFlight += 1
      case .ended: inFlight -= 1
      }
      peak = max(peak, inFlight)
    }
    #expect(inFlight == 0)
    #expect(peak <= 3)
    #expect(log.withLock { $0.count } == 600)
  }

  @Test("loses no deadline, in whatever order several are set at once")
  func deadlinesFromManyThreads() async throws {
    for _ in 0..<200 {
      let queue = TaskQueue<Int>(limit: .max)
      let late = queue.add(timeout: .seconds(3000)) {
        try await Gate().passUnlessCancelled()
        return 0
      }
      let handles = await withTaskGroup(of: TaskQueue<Int>.Handle.self) { group in
        for number in 0..<6 {
          group.addTask {
            queue.add(timeout: .microseconds(number * 10 + 1)) {
              try await Gate().passUnlessCancelled()
              return number
            }
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      for handle in handles {
        await #expect(throws: TaskQueueError(code: .timedOut, name: nil)) {
          try await handle.value
        }
      }
      late.cancel()
      await #expect(throws: CancellationError.self) { try await late.value }
    }
  }

  @Test("does not begin an item whose timeout is over before it starts", arguments: [0, -1])
  func noTime(seconds: Int) async throws {
    let queue = TaskQueue<Int>(limit: 1)
    let hasBegun = Mutex(false)
    let item = queue.add(timeout: .seconds(seconds)) {
      hasBegun.withLock { $0 = true }
      return 1
    }
    await #expect(throws: TaskQueueError(code: .timedOut, name: nil)) { try await item.value }
    #expect(!hasBegun.withLock { $0 })
  }

  @Test("reports the cancellation of a scope whose items it has cancelled")
  func cancelledScope() async throws {
    let hasReturned = Gate()
    let task = Task {
      try await withTaskQueue(of: Int.self, limit: 1) { queue in
        queue.add {
          hasReturned.open()
          try await Gate().passUnlessCancelled()
          return 0
        }
        try Task.checkCancellation()
      }
    }
    await hasReturned.pass()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test("lets go of what waits when nobody can start it any more")
  func abandoned() async throws {
    let handle: TaskQueue<Int>.Handle
    do {
      let queue = TaskQueue<Int>(limit: 0)
      handle = queue.add { 1 }
    }
    await #expect(throws: TaskQueueError(code: .dropped, name: nil)) { try await handle.value }
  }

  @Test("cancels thousands of barriers that wait in one step")
  func manyBarriers() async throws {
    let (queue, gate) = blockedQueue()
    let handles = (0..<5000).map { number in queue.add(isBarrier: true) { number } }
    queue.cancelAll()
    for handle in handles {
      await #expect(throws: CancellationError.self) { try await handle.value }
    }
    #expect(
      try await {
        gate.open(); return try await queue.add { 7 }.value
      }() == 7)
  }

  @Test("leaves no deadline behind when it is over, whichever thread is the last")
  func noTimerLeftByAnyThread() async throws {
    let alarm = Alarm(Timeline(ManualClock()))
    for _ in 0..<300 {
      let queue = TaskQueue<Int>(limit: 4, alarm: alarm, executor: nil)
      await withDiscardingTaskGroup { group in
        for number in 0..<4 {
          group.addTask {
            queue.add(timeout: .seconds(60 - number)) { number }
            queue.add(waitTimeout: .seconds(30 - number)) { number }
          }
        }
      }
      queue.finish()
      await queue.run()
      var patience = 100_000
      while alarm.count > 0, patience > 0 {
        patience -= 1
        await Task.yield()
      }
      #expect(alarm.count == 0)
    }
  }

  @Test("leaves no deadline behind when it is over")
  func noTimerLeft() async throws {
    let clock = ManualClock()
    let alarm = Alarm(Timeline(clock))
    let queue = TaskQueue<Int>(limit: 1, alarm: alarm, executor: nil)
    #expect(try await queue.add(timeout: .seconds(60)) { 1 }.value == 1)
    queue.finish()
    #expect(alarm.count == 0)
  }

  @Test("changes its limit from many threads while items flow, and loses none")
  func limitChanges() async throws {
    let queue = TaskQueue<Int>(limit: 2)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for thread in 0..<8 {
        group.addTask {
          for limit in 1...50 {
            queue.setLimit((limit * 7 + thread) % 5 + 1)
            await Task.yield()
          }
        }
      }
      let handles = (0..<1000).map { number in queue.add { number } }
      var sum = 0
      for handle in handles { sum += try await handle.value }
      #expect(sum == 499_500)
      try await group.waitForAll()
    }
    #expect(queue.status.inFlight == 0)
  }
}

extension TaskQueue {
  fileprivate func run(finishing: Bool) async {
    if finishing { finish() }
    await run()
  }
}
