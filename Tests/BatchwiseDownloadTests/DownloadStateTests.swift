// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseDownload

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite(.timeLimit(.minutes(2)))
struct DownloadStateTests {
  /// Each is some 4,000 events; hundreds of them were run once, and a few every time.
  private static let seeds = 3

  @Test(
    "Over many random steps it does what the naive model does",
    arguments: [(1, 1), (2, 1), (3, 6), (7, 2), (300, 120)])
  func againstModel(limit: Int, limitPerHost: Int) throws {
    for seed in 0..<Self.seeds {
      var random = SeededGenerator(seed: UInt64(seed * 1000 + limit))
      var pair = Pair(limit: limit, limitPerHost: limitPerHost)
      // Some sinks are slow, so that the window of events fills up.
      let slowness = [2, 50, 2000].randomElement(using: &random) ?? 2
      for step in 0..<400 {
        if Int.random(in: 0..<slowness, using: &random) == 0 { try pair.takeNews() }
        try pair.step(using: &random, endsSoon: step > 300)
        try pair.check()
      }
    }
  }

  @Test("Nothing starts while as much news waits as the window holds, and then it goes on")
  func newsWindow() throws {
    var state = TimedState(.limited(to: 1))
    var started = 0
    for number in 0..<5000 where state.inner.room > 0 {
      state.add(["http://h/\(number)"])
      for job in state.admit() {
        started += 1
        state.ended(job.id, .failed(DownloadFailure(.status, "No"), resume: nil))
      }
    }
    // Each has begun and ended, which are two pieces of news.
    #expect(started == DownloadState.newsWindow / 2)
    #expect(state.inner.news.count == DownloadState.newsWindow)
    #expect(state.inner.room == 0)

    state.add(["http://h/further"])
    #expect(state.admit().isEmpty)
    #expect(state.inner.takeNews().count == DownloadState.newsWindow)
    #expect(state.admit().map(\.item.address.absolute) == ["http://h/further"])
  }

  @Test("No more files than so many wait for their names before the starts wait too")
  func settlingWindow() {
    var state = TimedState(.limited(to: 1))
    state.add((0..<600).map { "http://h/\($0)" })
    var whole: [Int] = []
    while let job = state.admit().first {
      state.ended(job.id, .whole(nil))
      whole.append(job.id)
    }
    #expect(whole.count == DownloadState.mostSettling)
    #expect(state.inner.status.inFlight == 0)
    state.settled(whole[0], .failed(DownloadFailure(.name, "None")))
    #expect(state.admit().count == 1)
  }

  @Test("Where only files that wait for their names are open, the next one waits for them")
  func openWhileSettling() throws {
    var state = TimedState(.limited(to: 2))
    state.add(["http://h/a", "http://h/b"])
    let ids = state.admit().map(\.id)
    state.ended(ids[0], .whole(nil))
    let failure = DownloadFailure(.disk, "Too many open files", remedy: .fewerAtOnce)
    state.ended(ids[1], .failed(failure, resume: nil))
    #expect(state.inner.status.failed == 0)
    #expect(state.admit().isEmpty)
    state.now += .milliseconds(20)
    #expect(state.admit().map(\.attempts) == [1])
    // With nothing else open it is an attempt like any other.
    state.settled(ids[0], .failed(DownloadFailure(.name, "None")))
    state.ended(ids[1], .failed(failure, resume: nil))
    #expect(state.inner.status.failed == 2)
  }

  @Test("Where few files can be open, fewer wait for their names", arguments: [(100, 25), (3, 1)])
  func fewOpenFiles(openFiles: Int, most: Int) {
    var state = TimedState(.limited(to: 1), openFiles: openFiles)
    state.add((0..<50).map { "http://h/\($0)" })
    var whole = 0
    while let job = state.admit().first {
      state.ended(job.id, .whole(nil))
      whole += 1
    }
    #expect(whole == most)
  }

  @Test("The list is asked again only when half of the window is free")
  func hysteresis() throws {
    // Each item has a host of its own, so that all could start if the limit allowed.
    var state = TimedState(.limited(to: 1))
    #expect(state.inner.room == DownloadState.window)
    state.add((1...DownloadState.window).map { "http://h\($0)/" })
    #expect(state.inner.room == 0)
    var free = 0
    while state.inner.room == 0, let job = state.admit().first {
      free += 1
      _ = state.inner.takeNews()
      state.ended(job.id, .left(resume: nil))
    }
    #expect((DownloadState.window / 2...DownloadState.window / 2 + 1).contains(free))
  }

  @Test("Items that their host keeps waiting leave the window to those of other hosts")
  func hostsApart() {
    var options = DownloadOptions()
    options.limit = 100
    options.limitPerHost = 2
    var state = TimedState(options)
    state.add((0..<DownloadState.window).map { "http://slow/\($0)" })
    #expect(state.admit().count == 2)
    #expect(state.inner.room > 0, "Others may be behind them")
    state.add(["http://fast/"])
    #expect(state.admit().map(\.item.address.absolute) == ["http://fast/"])

    // Not for ever: memory is bounded, for each host and in all.
    while state.inner.room > 0 {
      state.add((0..<100).map { "http://slow/\(state.inner.status.items)/\($0)" })
    }
    #expect(state.inner.status.waiting < HostTable.mostHeld + 100)
  }

  @Test("So many items are held in all, however many hosts keep theirs waiting")
  func heldInAll() {
    var options = DownloadOptions()
    options.limit = 10
    options.limitPerHost = 1
    var state = TimedState(options)
    var host = 0
    while state.inner.room > 0 {
      host += 1
      state.add((0..<state.inner.room).map { "http://h\(host)/\($0)" })
      _ = state.admit()
    }
    #expect(state.inner.status.waiting <= DownloadState.mostHeld)
  }

  @Test(
    "A full disk ends the run for that reason, and leaves the item that found it to the next run")
  func diskFull() throws {
    var state = TimedState(.limited(to: 1))
    state.add(["http://h/a"])
    state.inner.listEnded()
    let job = try #require(state.admit().first)
    state.ended(job.id, .failed(DownloadFailure(.disk, "Full", remedy: .moreRoom), resume: nil))
    #expect(state.inner.isOver)
    #expect(state.inner.ending == .diskFull)
    #expect(state.inner.status.left == 1)
    #expect(state.inner.status.failed == 0)
  }

  @Test("An item that is abandoned before it has come from the list is left when it comes")
  func abandonedBefore() {
    var state = TimedState(.limited(to: 3))
    state.add(["http://h/a"])
    for id in [2, 4] { state.inner.abandon(id, at: .init(time: .zero, date: .now)) }
    state.add(["http://h/b", "http://h/c", "http://h/d"])
    #expect(state.admit().map(\.id) == [1, 3])
    #expect(state.inner.status.left == 2 && state.inner.status.waiting == 0)
  }

  @Test("The first reason to stop stands, and a stop after the end changes nothing")
  func firstReason() {
    var state = TimedState(.limited(to: 1))
    state.stop(.stopped)
    state.stop(.diskFull)
    #expect(state.inner.ending == .stopped)

    var over = TimedState(.limited(to: 1))
    over.inner.listEnded()
    over.stop(.stopped)
    #expect(over.inner.ending == nil)
  }

  @Test(
    "Where the server goes back to the previous file, that is recorded and the new part is not kept"
  )
  func restored() throws {
    var state = TimedState(.limited(to: 1))
    let file = StoredFile(path: "a", bytes: 7, sha256: nil, validator: .entityTag("1"))
    state.add(
      [WorkItem(address: "http://h/a")], .fetch(previous: file, isConditional: true, resume: nil))
    let point = ResumePoint(validator: .entityTag("2"), total: 9)
    let id = try #require(state.admit().first).id
    state.inner.kept(id, point)
    state.ended(id, .notModified)
    let news = state.inner.takeNews()
    let key = try PlannedItem(WorkItem(address: "http://h/a"), salt: 1).key
    #expect(news.compactMap(\.record?.state) == [.partial(point), .done(file)])
    #expect(
      news.compactMap { $0.useless(isRemembered: true) } == [PartialKey(key, point.validator)])
    #expect(news.compactMap(\.event?.kind.word) == ["started", "skipped"])
  }

  @Test("What was done stays recorded as done, unless something has come to take its place")
  func refreshedInVain() throws {
    let file = StoredFile(path: "a", bytes: 7, sha256: nil, validator: .entityTag("1"))
    let point = ResumePoint(validator: .entityTag("2"), total: 9)
    let failure = DownloadFailure(.status, status: 404, "Not there")
    for isKept in [false, true] {
      for isFailed in [false, true] {
        var state = TimedState(.limited(to: 1))
        state.add(
          [WorkItem(address: "http://h/a")],
          .fetch(previous: file, isConditional: true, resume: nil))
        let id = try #require(state.admit().first).id
        if isKept { state.inner.kept(id, point) }
        _ = state.inner.takeNews()
        state.ended(
          id, isFailed ? .failed(failure, resume: nil) : .left(resume: nil))
        let records = state.inner.takeNews().compactMap(\.record)
        let wanted: ItemRecord.State =
          isFailed ? .failed(failure, attempts: 1, point) : .partial(point)
        #expect(records.map(\.state) == (isKept ? [wanted] : []))
        #expect(records.allSatisfy { $0.previous == file })
      }
    }
  }

  @Test("A list that is stopped was not read to its end, and what it still brings is left")
  func stoppedList() {
    var state = TimedState(.limited(to: 1))
    state.add(["http://h/a"])
    state.stop(.stopped)
    state.inner.listEnded()
    state.add(["http://h/b"])
    #expect(!state.inner.status.isListRead)
    #expect(state.inner.status.items == 0)
    #expect(state.inner.status.left == 2)
    #expect(state.inner.isOver)
  }
}

/// A state with a clock that only the test moves.
struct TimedState {
  var inner: DownloadState
  var now = Duration.seconds(1000)

  init(_ options: DownloadOptions, openFiles: Int = .max, seed: UInt64 = 1) {
    inner = DownloadState(
      options: options, openFiles: openFiles, generator: SeededGenerator(seed: seed))
  }

  private var moment: DownloadState.Moment {
    DownloadState.Moment(time: now, date: .distantPast)
  }

  mutating func add(_ addresses: [String]) {
    add(addresses.map { WorkItem(address: $0) })
  }

  mutating func add(_ items: [WorkItem], _ plan: RecoveryPlan = .new) {
    let entries = items.map { item -> ListEntry in
      do throws(DownloadFailure) {
        return .planned(try PlannedItem(item, salt: 1), plan)
      } catch {
        return .flawed(item, error)
      }
    }
    inner.add(entries, at: moment)
  }

  mutating func admit() -> [DownloadJob] { inner.admit(at: moment) }

  mutating func ended(_ id: Int, _ outcome: DownloadState.Outcome) {
    inner.ended(id, outcome, at: moment)
  }

  mutating func settled(_ id: Int, _ settlement: Settlement) {
    inner.settled(id, settlement, at: moment)
  }

  mutating func stop(_ reason: DownloadReport.Ending) { inner.stop(reason, at: moment) }

  var nextWake: Duration? { inner.nextWake(at: now) }
}

/// The state and its naive model, side by side.
private struct Pair {
  var state: TimedState
  var model: NaiveDownloadState
  var inFlight: [DownloadJob] = []
  var nextNumber = 0

  init(limit: Int, limitPerHost: Int) {
    var options = DownloadOptions.limited(to: limit)
    options.limitPerHost = limitPerHost
    state = TimedState(options)
    model = NaiveDownloadState(limit: limit, limitPerHost: limitPerHost)
  }

  mutating func step(using random: inout SeededGenerator, endsSoon: Bool) throws {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<35:
      if state.inner.room > 0 {
        add(Int.random(in: 1...state.inner.room, using: &random), using: &random)
      }
    case 35..<98:
      for _ in 0..<Int.random(in: 1...20, using: &random) { try end(using: &random) }
    case 98 where endsSoon:
      state.inner.listEnded()
      if model.ending == nil { model.isListRead = true }
    case 99 where endsSoon:
      state.stop(.stopped)
      model.stop(.stopped)
    default: break
    }
    try admit()
  }

  private mutating func add(_ count: Int, using random: inout SeededGenerator) {
    let items = (0..<count).map { _ -> WorkItem in
      nextNumber += 1
      let host = "h\(Int.random(in: 0..<4, using: &random))"
      return switch Int.random(in: 0..<20, using: &random) {
      case 0: WorkItem(line: nextNumber, address: "no address")
      case 1: WorkItem(line: nextNumber, address: "http://h/\(nextNumber / 2)/same.png")
      default:
        WorkItem(line: nextNumber, address: "http://\(host)/\(nextNumber)/\(nextNumber % 9).png")
      }
    }
    state.add(items)
    model.add(
      items.map { item in Result { () throws(DownloadFailure) in try PlannedItem(item) } })
  }

  private mutating func admit() throws {
    let admitted = state.admit()
    let expected = model.admit()
    try #require(admitted.map(\.id) == expected)
    inFlight += admitted
    // Two items at once never hold one name.
    #expect(Set(inFlight.map(\.path)).count == inFlight.count)
  }

  private mutating func end(using random: inout SeededGenerator) throws {
    guard let index = inFlight.indices.randomElement(using: &random) else { return }
    let job = inFlight.remove(at: index)
    let outcome: DownloadState.Outcome
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<10:
      outcome = .failed(DownloadFailure(.status, status: 404, "Not there"), resume: nil)
    case 10..<20: outcome = .notModified
    case 20..<30: outcome = .left(resume: nil)
    case 30 where model.read > 3000:
      outcome = .failed(DownloadFailure(.disk, "Full", remedy: .moreRoom), resume: nil)
    default:
      outcome = .whole(
        WholeFile(
          keptFor: job, StoredFile(path: "a", bytes: 7, sha256: nil, validator: nil)))
    }
    state.ended(job.id, outcome)
    model.ended(job.id, outcome)
    try admit()
  }

  mutating func takeNews() throws {
    let news = state.inner.takeNews()
    let words = news.compactMap(\.event).map { "\($0.id) \($0.kind.word)" }
    #expect(words == model.events)
    #expect(news.count == model.news)
    model.events = []
    model.news = 0
    for file in news.compactMap(\.file) {
      let done = DownloadedFile(
        name: "a", bytes: 7, status: 200, attempts: 1, duration: .zero, proof: .length)
      state.settled(file.job.id, .done(done))
      model.settled(file.job.id)
    }
    try admit()
  }

  func check() throws {
    let status = state.inner.status
    try #require(status.inFlight == model.inFlight.count)
    try #require(status.inFlight <= status.limit)
    try #require(status.peakInFlight == model.peak)
    try #require(status.waiting == model.waiting.count)
    try #require(status.settling == model.settling.count)
    try #require(status.done == model.counts["done", default: 0])
    try #require(status.failed == model.counts["failed", default: 0])
    try #require(status.skipped == model.counts["skipped", default: 0])
    try #require(status.left == model.counts["left", default: 0])
    try #require(status.bytes == 7 * Int64(status.done))
    try #require(status.isListRead == model.isListRead)
    try #require(state.inner.ending == model.ending)
    try #require(state.inner.isOver == model.isOver)
    try #require(state.inner.hasNews == (model.news > 0 || model.isOver))
  }
}
