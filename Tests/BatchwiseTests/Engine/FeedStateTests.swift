// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("The feed's state", .timeLimit(.minutes(1)))
struct FeedStateTests {
  private typealias State = FeedState<String>

  private func makeState(
    limit: Int = 2, backlog: ClosedRange<Int> = 4...16, window: Int = .max
  ) -> State {
    State(FeedLimits(inFlight: limit, backlog: backlog, window: window))
  }

  /// A block of which this many elements are ready.
  private func makeBlock(_ ready: Int, at offset: Int = 0, capacity: Int = 64) -> BlockNumbers {
    BlockNumbers(offset: offset, capacity: capacity, ready: ready)
  }

  private func isProceeding<Work>(_ answer: FeedAnswer<Work>) -> Bool {
    if case .proceed = answer { true } else { false }
  }

  private func isOver<Work>(_ answer: FeedAnswer<Work>) -> Bool {
    if case .over = answer { true } else { false }
  }

  @Test("starts no more workers than there are elements, nor than the limit", arguments: 0...5)
  func hiresWhatIsNeeded(count: Int) {
    var state = makeState(limit: 3)
    _ = state.add(makeBlock(count))
    var hired = 0
    while isProceeding(state.hire()) { hired += 1 }
    #expect(hired == min(3, count))
  }

  @Test("starts no worker for an element that an idle one can take")
  func prefersIdleWorkers() {
    var state = makeState(limit: 3)
    let block = makeBlock(1)
    _ = state.add(block)
    #expect(isProceeding(state.hire()))
    state.arrive(wasParked: false)
    _ = block.claim()
    #expect(state.park(worker: "first") == true)

    block.addReady()
    #expect(!isProceeding(state.hire()))
    #expect(state.summon() == ["first"])
    block.addReady()
    #expect(isProceeding(state.hire()))
  }

  @Test("wakes one worker at a time")
  func wakesOneAtATime() {
    var state = makeState(limit: 2)
    let block = makeBlock(2)
    _ = state.add(block)
    for name in ["first", "second"] {
      _ = state.hire()
      state.arrive(wasParked: false)
      _ = block.claim()
      if name == "second" { #expect(state.park(worker: "first") == true) }
    }
    #expect(state.park(worker: "second") == true)
    #expect(state.hints.canWake)

    block.addReady()
    block.addReady()
    #expect(state.summon() == ["second"])
    #expect(!state.hints.canWake)
    #expect(state.summon() == [])
    state.arrive(wasParked: true)
    #expect(state.hints.canWake)
    #expect(state.summon() == ["first"])
  }

  @Test("lets nobody park who has something to do")
  func looksAgainBeforeParking() {
    var state = makeState(limit: 1)
    _ = state.add(makeBlock(1))
    #expect(state.park(worker: "worker") == false)
    #expect(state.park(owner: "owner") == false)
    #expect(state.park(feeder: "feeder", released: 0) == false)
    _ = state.finish()
    #expect(state.park(owner: "owner") == false)
  }

  @Test("wakes the feeder when half the backlog is claimed")
  func backlogIsHalved() {
    var state = makeState(backlog: 4...4)
    let block = makeBlock(4)
    _ = state.add(block)
    #expect(state.hints.roomOffset == .max)
    #expect(state.park(feeder: "feeder", released: 0) == true)
    #expect(state.hints.roomOffset == 1)
    #expect(block.claim() == 0)
    #expect(state.noteClaim() == nil)
    #expect(block.claim() == 1)
    #expect(state.noteClaim() == "feeder")
    guard case .proceed(2) = state.askRoom(released: 0) else {
      Issue.record("there is room for two")
      return
    }
  }

  @Test("doubles the backlog only if it ran dry while the feeder was on its way")
  func backlogGrows() {
    var state = makeState(backlog: 4...10)
    let block = makeBlock(4)
    _ = state.add(block)
    for expected in [8, 10, 10] {
      #expect(state.park(feeder: "feeder", released: 0) == true)
      while block.claim() != nil { _ = state.noteClaim() }
      guard case .proceed(expected) = state.askRoom(released: 0) else {
        Issue.record("there is room for \(expected)")
        return
      }
      for _ in 0..<expected { block.addReady() }
    }
    #expect(state.park(feeder: "feeder", released: 0) == true)
    for _ in 0..<9 { _ = block.claim() }
    guard case .proceed(9) = state.askRoom(released: 0) else {
      Issue.record("one was left, so the backlog was long enough")
      return
    }
  }

  @Test("keeps unread outcomes within the window")
  func windowBounds() {
    var state = makeState(backlog: 8...8, window: 3)
    guard case .proceed(3) = state.askRoom(released: 0) else {
      Issue.record("there is room for three")
      return
    }
    let block = makeBlock(3)
    _ = state.add(block)
    while block.claim() != nil {}
    #expect(state.park(feeder: "feeder", released: 0) == true)
    #expect(state.noteClaim() == nil)
    #expect(state.hints.awaitsRelease)
    #expect(state.release(released: 1) == "feeder")
    #expect(!state.hints.awaitsRelease)
    guard case .proceed(1) = state.askRoom(released: 1) else {
      Issue.record("there is room for one")
      return
    }
  }

  @Test("hears of what is read only while that is what the feeder waits for")
  func releasesPassBy() {
    var state = makeState(backlog: 4...4, window: 8)
    let block = makeBlock(4)
    _ = state.add(block)
    #expect(state.park(feeder: "feeder", released: 0) == true)
    #expect(!state.hints.awaitsRelease, "there is room in the window")

    _ = block.claim()
    _ = block.claim()
    #expect(state.noteClaim() == "feeder")
    for _ in 0..<4 { block.addReady() }
    #expect(state.park(feeder: "feeder", released: 0) == true)
    #expect(state.hints.awaitsRelease, "the window is shut")
    #expect(state.hints.roomOffset == .max)
    #expect(state.release(released: 1) == nil, "six elements wait for a worker")
    #expect(!state.hints.awaitsRelease)
    #expect(state.hints.roomOffset == 5)
    for _ in 0..<4 { _ = block.claim() }
    #expect(state.noteClaim() == "feeder")
  }

  @Test("passes over a block that is used up before it is dropped")
  func oldestBlockFirst() {
    var state = makeState()
    let blocks = [makeBlock(1, capacity: 1), makeBlock(1, at: 1)]
    for block in blocks { _ = state.add(block) }
    for block in blocks {
      guard case .proceed(let next) = state.work else {
        Issue.record("there is work")
        return
      }
      #expect(next === block)
      _ = next.claim()
    }
    guard case .wait = state.work else {
      Issue.record("there is no work now")
      return
    }
  }

  @Test("ends once, closes what is unclaimed, and wakes everybody")
  func endsOnce() {
    var state = makeState(limit: 3)
    let block = makeBlock(1)
    _ = state.add(block)
    _ = state.hire()
    state.arrive(wasParked: false)
    _ = block.claim()
    #expect(state.park(worker: "worker") == true)
    #expect(state.park(owner: "owner") == true)
    block.addReady()
    #expect(state.end() == ["worker", "owner"])
    #expect(state.end() == nil)
    #expect(block.isClosed)
    #expect(isOver(state.work) && isOver(state.hire()) && isOver(state.askRoom(released: 0)))
    let hints = State.Hints(
      canWake: false, canHire: false, roomOffset: .max, awaitsRelease: false)
    #expect(state.hints == hints)
  }

  @Test("is cut short by cancellation only if something was left undone")
  func endsUnlessAllClaimed() {
    for (ready, claimed, isFinished) in [(2, 2, true), (2, 1, true), (2, 2, false)] {
      var state = makeState()
      let block = makeBlock(ready)
      _ = state.add(block)
      for _ in 0..<claimed { _ = block.claim() }
      if isFinished { _ = state.finish() }
      let isWhole = claimed == ready && isFinished
      #expect((state.endUnlessAllClaimed() == nil) == isWhole)
      #expect(isOver(state.work))
    }
  }

  @Test("closes a block that comes after the end")
  func lateBlock() {
    var state = makeState()
    _ = state.end()
    let block = makeBlock(2)
    _ = state.add(block)
    #expect(block.isClosed)
  }
}
