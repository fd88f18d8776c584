// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseDownload

@Suite(.timeLimit(.minutes(2)))
struct DownloadStateTests {
  /// Each is some 4,000 events; hundreds of them were run once, and a few every time.
  private static let seeds = 3

  @Test(
    "Over many random steps it does what the naive model does",
    arguments: [1, 2, 3, 7, 300])
  func againstModel(limit: Int) throws {
    for seed in 0..<Self.seeds {
      var random = SeededGenerator(seed: UInt64(seed * 1000 + limit))
      var pair = Pair(limit: limit)
      // Some sinks are slow, so that the window of events fills up.
      let slowness = [2, 50, 2000].randomElement(using: &random) ?? 2
      for step in 0..<400 {
        if Int.random(in: 0..<slowness, using: &random) == 0 { try pair.takeEvents() }
        try pair.step(using: &random, endsSoon: step > 300)
        try pair.check()
      }
    }
  }

  @Test("Nothing starts while as many events wait as the window holds, and then it goes on")
  func eventWindow() throws {
    var state = DownloadState(limit: 1)
    var started = 0
    for number in 0..<5000 where state.room > 0 {
      add(["http://h/\(number)"], to: &state)
      for admitted in state.admit() {
        started += 1
        state.finished(admitted, .left)
      }
    }
    #expect(started == DownloadState.eventWindow)
    #expect(state.events.count == DownloadState.eventWindow)
    #expect(state.room == 0)

    add(["http://h/further"], to: &state)
    let heldBack = state.admit()
    #expect(heldBack.isEmpty)
    let taken = state.takeEvents()
    #expect(taken.count == DownloadState.eventWindow)
    let admitted = state.admit()
    #expect(admitted.map(\.item.address.absolute) == ["http://h/further"])
  }

  @Test("The list is asked again only when half of the window is free")
  func hysteresis() throws {
    var state = DownloadState(limit: 1)
    #expect(state.room == DownloadState.window)
    add((1...DownloadState.window).map { "http://h/\($0)" }, to: &state)
    #expect(state.room == 0)
    var free = 0
    while state.room == 0, let admitted = state.admit().first {
      free += 1
      state.finished(admitted, .left)
    }
    #expect(free == DownloadState.window / 2)
    #expect(state.room == DownloadState.window / 2)
  }

  @Test("A full disk ends the run for that reason, also when the last item finds it")
  func diskFull() throws {
    var state = DownloadState(limit: 1)
    add(["http://h/a"], to: &state)
    state.listEnded()
    let admitted = state.admit()
    var failure = DownloadFailure(.disk, "Full")
    failure.remedy = .moreRoom
    state.finished(try #require(admitted.first), .failed(failure))
    #expect(state.isOver)
    #expect(state.ending == .diskFull)
  }

  @Test("The first reason to stop stands, and a stop after the end changes nothing")
  func firstReason() {
    var state = DownloadState(limit: 1)
    state.stop(.stopped)
    state.stop(.diskFull)
    #expect(state.ending == .stopped)

    var over = DownloadState(limit: 1)
    over.listEnded()
    over.stop(.stopped)
    #expect(over.ending == nil)
  }

  @Test("A list that a stop has cut off does not count as read to its end")
  func stoppedList() {
    var state = DownloadState(limit: 1)
    add(["http://h/a"], to: &state)
    state.stop(.stopped)
    state.listEnded()
    add(["http://h/b"], to: &state)
    #expect(!state.status.isListRead)
    #expect(state.status.items == 0)
    #expect(state.isOver)
  }

  private func add(_ addresses: [String], to state: inout DownloadState) {
    let items = addresses.map { WorkItem(address: $0) }
    state.add(
      items,
      plans: items.map { item in
        Result { () throws(DownloadFailure) in try PlannedItem(item) }
      })
  }
}

/// The state and its naive model, side by side.
private struct Pair {
  var state: DownloadState
  var model: NaiveDownloadState
  var inFlight: [DownloadState.Admitted] = []
  var unseen: [String] = []
  var nextNumber = 0
  var lastStarted = 0

  init(limit: Int) {
    state = DownloadState(limit: limit)
    model = NaiveDownloadState(limit: limit)
  }

  mutating func step(using random: inout SeededGenerator, endsSoon: Bool) throws {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<35:
      if state.room > 0 { add(Int.random(in: 1...state.room, using: &random), using: &random) }
    case 35..<98:
      for _ in 0..<Int.random(in: 1...20, using: &random) { try finish(using: &random) }
    case 98 where endsSoon:
      state.listEnded()
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
      return switch Int.random(in: 0..<20, using: &random) {
      case 0: WorkItem(line: nextNumber, address: "no address")
      case 1: WorkItem(line: nextNumber, address: "http://h/\(nextNumber / 2)/same.png")
      case 2...4: WorkItem(line: nextNumber, address: "http://u\(nextNumber)@h/same.png")
      default: WorkItem(line: nextNumber, address: "http://h/\(nextNumber)/\(nextNumber % 9).png")
      }
    }
    let plans = items.map { item in
      Result { () throws(DownloadFailure) in try PlannedItem(item) }
    }
    state.add(items, plans: plans)
    model.add(plans)
  }

  private mutating func admit() throws {
    let admitted = state.admit()
    let expected = model.admit()
    #expect(admitted.map(\.item.id) == expected)
    for each in admitted {
      try #require(each.item.id > lastStarted, "Items start in the order of the list")
      lastStarted = each.item.id
      #expect(each.name == model.inFlight.first { $0.id == each.item.id }?.name)
    }
    inFlight += admitted
  }

  private mutating func finish(using random: inout SeededGenerator) throws {
    guard let index = inFlight.indices.randomElement(using: &random) else { return }
    let admitted = inFlight.remove(at: index)
    let outcome: DownloadState.Outcome
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<10: outcome = .failed(DownloadFailure(.status, status: 404, "Not there"))
    case 10..<20: outcome = .unchanged(file: "a")
    case 20..<30: outcome = .left
    case 30 where model.read > 3000:
      var failure = DownloadFailure(.disk, "Full")
      failure.remedy = .moreRoom
      outcome = .failed(failure)
    default:
      outcome = .done(
        DownloadedFile(
          name: "a", bytes: 7, status: 200, attempts: 1, duration: .zero, proof: .length))
    }
    state.finished(admitted, outcome)
    model.finished(admitted.item.id, outcome)
    try admit()
  }

  mutating func takeEvents() throws {
    let words = state.takeEvents().map { event in
      switch event.kind {
      case .started: "\(event.id) started"
      case .done: "\(event.id) done"
      case .failed: "\(event.id) failed"
      case .skipped: "\(event.id) skipped"
      }
    }
    #expect(words == model.events)
    model.events = []
    try admit()
  }

  func check() throws {
    let status = state.status
    try #require(status.inFlight == model.inFlight.count)
    try #require(status.inFlight <= status.limit)
    try #require(status.peakInFlight == model.peak)
    try #require(status.waiting == model.waiting.count)
    try #require(status.done == model.counts["done", default: 0])
    try #require(status.failed == model.counts["failed", default: 0])
    try #require(status.skipped == model.counts["skipped", default: 0])
    try #require(status.bytes == model.bytes)
    try #require(status.isListRead == model.isListRead)
    try #require(state.ending == model.ending)
    try #require(state.isOver == model.isOver)
    try #require(state.room == model.room)
    try #require(state.hasNews == (!model.events.isEmpty || model.isOver))
  }
}
