// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

/// A queue of numbers, with no tasks, no clock and no lock, and a book of what becomes of each item.
private struct Book {
  typealias State = TaskQueueState<Int, Int>

  let limit: Int
  let capacity: Int
  var state: State
  var now = Duration.zero
  var added = 0
  var inFlight: [Int: SlabID] = [:]
  var waiting: [Int: SlabID] = [:]
  var ended: [Int: Int] = [:]
  var toCancel: Set<Int> = []
  var wakeUp: Duration?
  var decided: [Int: Bool] = [:]

  init(limit: Int, options: TaskQueueOptions) {
    self.limit = limit
    capacity = options.backlog.capacity
    state = State(limit: limit, options: options)
  }

  mutating func settle() {
    let effects = state.settle(at: now)
    for (job, id) in [effects.firstStart].compactMap({ $0 }) + effects.furtherStarts {
      waiting[job] = nil
      inFlight[job] = id
    }
    for (job, _) in effects.refusals {
      waiting[job] = nil
      ended[job, default: 0] += 1
    }
    toCancel.formUnion(effects.cancellations)
    for (waiter, isReached) in effects.woken { decided[waiter] = isReached }
    if let wakeUp = effects.wakeUp { self.wakeUp = wakeUp }
  }

  mutating func add(_ options: TaskQueueItemOptions) {
    added += 1
    let id = state.add(added, options, at: now)
    waiting[added] = id
    settle()
  }

  mutating func end(_ job: Int) {
    guard let id = inFlight.removeValue(forKey: job) else { return }
    state.end(id, .succeeded, at: now)
    ended[job, default: 0] += 1
    settle()
  }

  mutating func sleep() {
    guard let wakeUp else { return }
    now = max(now, wakeUp)
    self.wakeUp = nil
    state.wake(at: now)
    settle()
  }
}

extension TaskQueueItemOptions {
  static func plain(_ change: (inout TaskQueueItemOptions) -> Void = { _ in })
    -> TaskQueueItemOptions
  {
    var options = TaskQueueItemOptions(priority: 0, isBarrier: false)
    change(&options)
    return options
  }
}

@Suite("The state of a task queue", .timeLimit(.minutes(2)))
struct TaskQueueStateTests {
  @Test(
    "Every item ends once, the bounds hold, and nobody waits without a reason, whatever happens",
    arguments: 1...40)
  func randomEvents(seed: UInt64) async {
    var random = SeededGenerator(seed: seed)
    let limit = Int.random(in: 0...4, using: &random)
    let overflow: [TaskQueueBacklog.Overflow] = [.refuse, .dropOldest, .dropNewest]
    let options = TaskQueueOptions(
      limitPerKey: Bool.random(using: &random) ? .max : Int.random(in: 1...2, using: &random),
      rate: Int.random(in: 0..<3, using: &random) == 0
        ? .tokenBucket(5, per: .milliseconds(10), burst: 2) : nil,
      backlog: Bool.random(using: &random)
        ? .unbounded
        : .limited(
          to: Int.random(in: 0...5, using: &random),
          overflow: overflow.randomElement(using: &random) ?? .refuse),
      ageing: Bool.random(using: &random) ? nil : .milliseconds(1))
    var book = Book(limit: limit, options: options)
    var currentLimit = limit
    for step in 0..<1_500 {
      if step.isMultiple(of: 100) { await Task.yield() }
      switch Int.random(in: 0..<16, using: &random) {
      case 0...4 where book.waiting.count < 12:
        book.add(
          .plain { item in
            item.priority = Int.random(in: 0...2, using: &random)
            if Bool.random(using: &random) {
              item.key = AdmissionKey(Int.random(in: 0...2, using: &random))
            }
            item.isBarrier = Int.random(in: 0..<20, using: &random) == 0
            if Int.random(in: 0..<4, using: &random) == 0 { item.timeout = .milliseconds(5) }
            if Int.random(in: 0..<4, using: &random) == 0 { item.waitTimeout = .milliseconds(3) }
          })
      case 5...8:
        if let job = book.inFlight.keys.min() { book.end(job) }
      case 9:
        if let id = book.waiting.values.randomElement(using: &random) { book.state.cancel(id) }
        book.settle()
      case 10:
        if let id = book.waiting.values.randomElement(using: &random) {
          book.state.setPriority(Int.random(in: 0...4, using: &random), of: id)
        }
        book.settle()
      case 11:
        currentLimit = Int.random(in: 0...4, using: &random)
        book.state.setLimit(currentLimit)
        book.settle()
      case 12:
        if Bool.random(using: &random) { book.state.pause() } else { book.state.resume() }
        book.settle()
      case 13: book.sleep()
      case 14: book.now += .milliseconds(1)
      default:
        if Int.random(in: 0..<50, using: &random) == 0 { book.state.cancelAll() }
        book.settle()
      }
      let status = book.state.status(at: book.now)
      guard status.inFlight == book.inFlight.count, status.waiting == book.waiting.count,
        book.waiting.count <= options.backlog.capacity,
        book.ended.count + book.inFlight.count + book.waiting.count == book.added
      else {
        Issue.record("seed \(seed), step \(step): \(status)")
        return
      }
      for id in step.isMultiple(of: 4) ? Array(book.waiting.values) : [] {
        let isHindered =
          switch book.state.state(of: id, at: book.now) {
          case .waiting(.limit)?: status.inFlight >= currentLimit
          case .waiting(.key)?: status.inFlight > 0
          case .waiting(.rate(let wait))?: wait >= .zero && options.rate != nil
          case .waiting(.paused)?: status.isPaused
          case .waiting(.barrier)?: status.inFlight > 0 || status.waiting > 1
          default: false
          }
        if !isHindered {
          Issue.record("seed \(seed), step \(step): nothing hinders \(id), \(status)")
          return
        }
      }
    }
    // All that is left can come to its end.
    book.state.resume()
    book.state.setLimit(2)
    book.settle()
    var rounds = 0
    while !(book.inFlight.isEmpty && book.waiting.isEmpty), rounds < 10_000 {
      rounds += 1
      if let job = book.inFlight.keys.min() { book.end(job) } else { book.sleep() }
    }
    #expect(book.ended.count == book.added)
    #expect(book.ended.values.allSatisfy { $0 == 1 })
  }

  @Test("A limit that is lowered is never passed by those that start later")
  func loweredLimit() {
    var book = Book(limit: 4, options: TaskQueueOptions())
    for _ in 0..<20 { book.add(.plain()) }
    #expect(book.inFlight.count == 4)
    book.state.setLimit(1)
    book.settle()
    for _ in 0..<3 { book.end(book.inFlight.keys.min() ?? 0) }
    #expect(book.inFlight.count == 1)
    book.end(book.inFlight.keys.min() ?? 0)
    #expect(book.inFlight.count == 1)
  }

  @Test("A low item starts within its bound among endless high ones, if waiting counts")
  func ageing() {
    for ageing in [nil, Duration.milliseconds(1)] {
      var book = Book(limit: 1, options: TaskQueueOptions(ageing: ageing))
      book.add(.plain { $0.priority = 25 })
      book.add(.plain { $0.priority = 9 })
      var startedAfter: Duration?
      for _ in 0..<100 {
        book.now += .milliseconds(1)
        book.add(.plain { $0.priority = 25 })
        book.end(book.inFlight.keys.min() ?? 0)
        if book.inFlight[2] != nil, startedAfter == nil { startedAfter = book.now }
      }
      // 16 points of priority, a millisecond each, and the one it waits behind.
      if ageing == nil {
        #expect(startedAfter == nil)
      } else {
        #expect(startedAfter.map { $0 <= .milliseconds(18) } ?? false)
      }
    }
  }

  @Test("A cancelled barrier no longer keeps those behind it from starting")
  func cancelledBarrier() {
    var book = Book(limit: 2, options: TaskQueueOptions())
    book.add(.plain())
    book.add(.plain { $0.isBarrier = true })
    book.add(.plain())
    #expect(book.inFlight.count == 1)
    if let barrier = book.waiting[2] { book.state.cancel(barrier) }
    book.settle()
    #expect(Set(book.inFlight.keys) == [1, 3])
  }

  @Test("A barrier runs alone, whatever the priorities, and can be the only item")
  func barrier() {
    var book = Book(limit: 3, options: TaskQueueOptions())
    book.add(.plain { $0.isBarrier = true })
    #expect(Set(book.inFlight.keys) == [1])
    book.add(.plain())
    book.add(.plain { $0.priority = 1 })
    book.add(
      .plain {
        $0.isBarrier = true; $0.priority = 9
      })
    book.add(.plain { $0.priority = 5 })
    #expect(Set(book.inFlight.keys) == [1])
    book.end(1)
    #expect(Set(book.inFlight.keys) == [2, 3])
    book.end(2)
    book.end(3)
    #expect(Set(book.inFlight.keys) == [4])
    book.end(4)
    #expect(Set(book.inFlight.keys) == [5])
    book.end(5)
    #expect(book.state.status(at: .zero).counts.succeeded == 5)
  }
}

@Suite("The parts of a task queue", .timeLimit(.minutes(1)))
struct TaskQueuePartsTests {
  @Test("A histogram's percentiles are right to one part in sixteen")
  func histogram() {
    var histogram = DurationHistogram()
    #expect(histogram.summary.count == 0)
    for value in 1...10_000 { histogram.record(.microseconds(value)) }
    let summary = histogram.summary
    #expect(summary.count == 10_000)
    #expect(summary.maximum == .milliseconds(10))
    for (found, right) in [
      (summary.median, 5.0), (summary.ninetieth, 9.0), (summary.ninetyNinth, 9.9),
    ] {
      let error = found / .milliseconds(1) / right
      #expect(error > 1 - 1 / 16 && error < 1 + 1 / 16)
    }
  }

  @Test("A histogram takes in every duration there is")
  func extremes() {
    var histogram = DurationHistogram()
    for duration in [
      Duration.zero, .nanoseconds(1), .nanoseconds(7), .nanoseconds(8),
      .seconds(1) * 3600 * 24 * 365 * 200, .seconds(-1),
    ] {
      histogram.record(duration)
    }
    #expect(histogram.summary.count == 6)
  }

  @Test("An order skips those who have gone, at both ends")
  func order() {
    var slab = Slab<Int>()
    var order = ItemOrder()
    let ids = (0..<200).map { slab.insert($0) }
    ids.forEach { order.append($0) }
    for id in ids where id != ids[100] && id != ids[150] { _ = slab.remove(id) }
    #expect(order.first { slab.contains($0) } == ids[100])
    #expect(order.last { slab.contains($0) } == ids[150])
    order.compact(to: 0) { slab.contains($0) }
    #expect(order.count <= 51)
    _ = slab.remove(ids[100])
    _ = slab.remove(ids[150])
    #expect(order.first { slab.contains($0) } == nil)
    #expect(order.all.isEmpty)
  }

  @Test("A ticket is decided once, before or after its holder is suspended")
  func tickets() {
    var tickets = Tickets<Int, String, Void>()
    let early = tickets.issue()
    #expect(tickets.decide(early, "yes") == nil)
    #expect(tickets.decide(early, "no") == nil)
    #expect(tickets.suspend(early, 1) == "yes")
    let late = tickets.issue()
    #expect(tickets.suspend(late, 2) == nil)
    #expect(tickets.decide(late, "yes") == 2)
    #expect(tickets.decide(late, "no") == nil)
    #expect(tickets.count == 0)
  }
}
