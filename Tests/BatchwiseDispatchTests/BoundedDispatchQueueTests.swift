// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Dispatch
import Synchronization
import Testing

@testable import BatchwiseDispatch

/// A failure that names the item it belongs to.
private struct Boom: Error, Equatable {
  var number: Int
}

/// Counts what is in flight, for code that does not suspend.
private final class Counter: Sendable {
  private let counts = Mutex((inFlight: 0, peak: 0, started: 0))

  func start() {
    counts.withLock {
      $0.inFlight += 1
      $0.started += 1
      $0.peak = max($0.peak, $0.inFlight)
    }
  }

  func end() { counts.withLock { $0.inFlight -= 1 } }

  var peak: Int { counts.withLock { $0.peak } }
  var started: Int { counts.withLock { $0.started } }
}

extension BoundedDispatchQueue {
  /// Waits until nothing waits and nothing is in flight.
  fileprivate func idle() async {
    await withCheckedContinuation { continuation in
      notify(queue: .global()) { continuation.resume() }
    }
  }
}

@Suite("A bounded Dispatch queue", .timeLimit(.minutes(1)))
struct BoundedDispatchQueueTests {
  @Test("keeps exactly its limit of callbacks in flight", arguments: [1, 3, 16])
  func peak(limit: Int) async {
    let queue = BoundedDispatchQueue(label: "test", limit: limit)
    let counter = Counter()
    let held = Watched<[BoundedDispatchQueue.Completion<Void>]>([])
    for _ in 0..<200 {
      queue.async { done in
        counter.start()
        held.update { $0.append(done) }
      }
    }
    var ended = 0
    while ended < 200 {
      let batch = min(limit, 200 - ended)
      await held.wait { $0.count == batch }
      for done in held.update({ held in
        defer { held = [] }; return held
      }) {
        counter.end()
        done()
      }
      ended += batch
    }
    await queue.idle()
    #expect(counter.peak == limit)
    #expect(counter.started == 200)
  }

  @Test("runs synchronous work in the order of the calls, one at a time, on one thread's stack")
  func order() async {
    let queue = BoundedDispatchQueue(label: "test", limit: 1)
    let order = Mutex<[Int]>([])
    for number in 0..<50_000 { queue.async { order.withLock { $0.append(number) } } }
    await queue.idle()
    let isInOrder = order.withLock { $0 == Array(0..<50_000) }
    #expect(isInOrder)
  }

  @Test("needs no more stack for callbacks that complete before they return")
  func noRecursion() async {
    let queue = BoundedDispatchQueue(label: "test", limit: 2)
    let counter = Counter()
    queue.suspend()
    for _ in 0..<100_000 {
      queue.async { done in
        counter.start()
        counter.end()
        done()
      }
    }
    queue.resume()
    await queue.idle()
    #expect(counter.started == 100_000)
    #expect(counter.peak <= 2)
  }

  @Test("gives others their turn between its items, where it runs on their queue")
  func sharedTarget() async {
    let serial = DispatchQueue(label: "serial")
    let queue = BoundedDispatchQueue(label: "test", limit: 1, target: serial)
    let order = Watched<[Int]>([])
    queue.suspend()
    for number in 0..<20 {
      queue.async {
        if number == 0 { serial.async { order.update { $0.append(-1) } } }
        order.update { $0.append(number) }
      }
    }
    queue.resume()
    await order.wait { $0.count == 21 }
    #expect((order.value.firstIndex(of: -1) ?? 20) < 5)
  }

  @Test("gives its threads nothing to wait on, however many items wait")
  func threads() async {
    let queue = BoundedDispatchQueue(label: "test", limit: 2)
    let hasStarted = Watched(0)
    let held = Watched<[BoundedDispatchQueue.Completion<Void>]>([])
    for _ in 0..<1000 {
      queue.async { done in
        held.update { $0.append(done) }
        hasStarted.update { $0 += 1 }
      }
    }
    await hasStarted.wait { $0 == 2 }
    #expect(threadCount() < 40)
    #expect(queue.status.inFlight == 2)
    #expect(queue.status.waiting == 998)
    queue.cancelWaiting()
    for done in held.value { done() }
    held.update { $0 = [] }
    await queue.idle()
  }

  @Test("tells how each item ended, once, on the queue that was asked for")
  func completions() async {
    let queue = BoundedDispatchQueue(label: "test", limit: 4)
    let key = DispatchSpecificKey<Bool>()
    let mine = DispatchQueue(label: "mine")
    mine.setSpecific(key: key, value: true)
    let ends = Watched<[Int: [String]]>([:])
    let isElsewhere = Mutex(false)
    for number in 0..<100 {
      queue.async(
        execute: { () throws -> Int in
          if number.isMultiple(of: 3) { throw Boom(number: number) }
          return number
        }, completionQueue: mine
      ) { result in
        if DispatchQueue.getSpecific(key: key) != true { isElsewhere.withLock { $0 = true } }
        let end: String
        switch result {
        case .success(let value): end = "\(value)"
        case .failure(let error): end = "\(error)"
        }
        ends.update { $0[number, default: []].append(end) }
      }
    }
    await ends.wait { $0.count == 100 }
    #expect(!isElsewhere.withLock { $0 })
    #expect(ends.value.values.allSatisfy { $0.count == 1 })
    #expect(ends.value[4] == ["4"])
    #expect(ends.value[3] == ["Boom(number: 3)"])
  }

  @Test("tells of a completion that is called twice, and its limit stays what it is")
  func calledTwice() async {
    let told = Watched<[BoundedDispatchError]>([])
    let queue = BoundedDispatchQueue(label: "thumbnails", limit: 1) { error in
      told.update { $0.append(error) }
    }
    queue.async { done in
      done()
      done()
    }
    await told.wait { $0.count == 1 }
    #expect(told.value.first?.code == .completedTwice)
    #expect(told.value.first?.description.contains("thumbnails") == true)
    await queue.idle()
    #expect(queue.status.inFlight == 0)
    let counter = Counter()
    for _ in 0..<10 {
      queue.async {
        counter.start()
        counter.end()
      }
    }
    await queue.idle()
    #expect(counter.peak == 1)
  }

  @Test("tells of a completion that is never called, and gives its place on")
  func neverCalled() async {
    let told = Watched<[BoundedDispatchError]>([])
    let failed = Watched(0)
    let queue = BoundedDispatchQueue(label: "test", limit: 1) { error in
      told.update { $0.append(error) }
    }
    queue.async(
      start: { (_: BoundedDispatchQueue.Completion<Int>) in }, completionQueue: .global()
    ) { result in
      if case .failure(let error as BoundedDispatchError) = result, error.code == .neverCompleted {
        failed.update { $0 += 1 }
      }
    }
    await failed.wait { $0 == 1 }
    #expect(told.value.map(\.code) == [.neverCompleted])
    await queue.idle()
    #expect(queue.status.inFlight == 0)
  }

  @Test("starts nothing while it is suspended, and counts its suspensions")
  func suspension() async {
    let queue = BoundedDispatchQueue(label: "test", limit: 2)
    let counter = Counter()
    queue.suspend()
    queue.suspend()
    for _ in 0..<10 {
      queue.async {
        counter.start()
        counter.end()
      }
    }
    queue.resume()
    #expect(queue.status.isSuspended)
    #expect(queue.status.waiting == 10)
    #expect(counter.started == 0)
    queue.resume()
    await queue.idle()
    #expect(counter.started == 10)
  }

  @Test("starts nothing with a limit of zero, and everything once it is raised")
  func closedGate() async {
    let queue = BoundedDispatchQueue(label: "test", limit: 0)
    let counter = Counter()
    for _ in 0..<10 {
      queue.async {
        counter.start()
        counter.end()
      }
    }
    #expect(queue.status == .init(limit: 0, inFlight: 0, waiting: 10, isSuspended: false))
    queue.setLimit(3)
    await queue.idle()
    #expect(counter.started == 10)
  }

  @Test("runs what it has taken in when nobody holds it any more")
  func dropped() async {
    let ended = Watched(0)
    do {
      let queue = BoundedDispatchQueue(label: "test", limit: 1)
      for _ in 0..<100 { queue.async { ended.update { $0 += 1 } } }
    }
    await ended.wait { $0 == 100 }
  }

  @Test(
    "fails what waits when it is dropped while nothing can start, each once", arguments: [0, 1])
  func droppedWhileClosed(limit: Int) async {
    let ends = Watched<[String]>([])
    do {
      let queue = BoundedDispatchQueue(label: "test", limit: limit)
      if limit > 0 { queue.suspend() }
      for number in 0..<3 {
        queue.async(execute: { number }, completionQueue: .global()) { result in
          switch result {
          case .success: ends.update { $0.append("ran") }
          case .failure(let error as BoundedDispatchError) where error.code == .dropped:
            ends.update { $0.append("dropped") }
          case .failure(let error): ends.update { $0.append("\(error)") }
          }
        }
      }
    }
    await ends.wait { $0.count == 3 }
    #expect(ends.value == ["dropped", "dropped", "dropped"])
  }

  @Test("survives items added, limits changed and waiting ones dropped from many threads")
  func soak() async {
    let queue = BoundedDispatchQueue(label: "test", limit: 2)
    let ended = Watched(0)
    let group = DispatchGroup()
    for thread in 0..<8 {
      DispatchQueue.global().async(group: group) {
        var random = SeededGenerator(seed: UInt64(thread))
        for number in 0..<500 {
          switch Int.random(in: 0..<20, using: &random) {
          case 0: queue.setLimit(Int.random(in: 1...4, using: &random))
          case 1: queue.cancelWaiting()
          case 2:
            queue.suspend()
            queue.resume()
          default: break
          }
          if number.isMultiple(of: 2) {
            queue.async(execute: { number }, completionQueue: .global()) { _ in
              ended.update { $0 += 1 }
            }
          } else {
            queue.async(
              start: { done in DispatchQueue.global().async { done(.success(number)) } },
              completionQueue: .global()
            ) { (_: Result<Int, any Error>) in ended.update { $0 += 1 } }
          }
        }
      }
    }
    await ended.wait { $0 == 4000 }
    await queue.idle()
    #expect(queue.status.inFlight == 0)
    #expect(queue.status.waiting == 0)
  }
}

@Suite("Mapping on Dispatch's threads", .timeLimit(.minutes(1)))
struct ConcurrentPerformMapTests {
  /// Calls from a thread that may be blocked.
  private func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: body()) }
    }
  }

  @Test("returns results in source order, for every length and limit", arguments: 0...6)
  func order(count: Int) async {
    for limit in 1...7 {
      let results = await onThread { (0..<count).concurrentPerformMap(limit: limit) { $0 * 2 } }
      #expect(results == (0..<count).map { $0 * 2 })
    }
  }

  @Test("throws the failure of an element, whichever it is", arguments: 0..<5)
  func failure(failing: Int) async {
    let result = await onThread {
      Result { () throws(Boom) in
        try (0..<5).concurrentPerformMap(limit: 2) { (number) throws(Boom) -> Int in
          if number == failing { throw Boom(number: number) }
          return number
        }
      }
    }
    #expect(throws: Boom(number: failing)) { try result.get() }
  }

  @Test("never has more in flight than its limit")
  func peak() async {
    let counter = Counter()
    let count = await onThread {
      (0..<1000).concurrentPerformMap(limit: 1) { _ in
        counter.start()
        counter.end()
      }.count
    }
    #expect(count == 1000)
    #expect(counter.peak == 1)
  }
}

#if os(Linux)
  import Glibc

  /// How many threads this process has.
  private func threadCount() -> Int {
    guard let folder = opendir("/proc/self/task") else { return 0 }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    return count - 2
  }
#endif
