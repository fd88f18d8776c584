// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("AdmissionState", .timeLimit(.minutes(1)))
struct AdmissionStateTests {
  /// A state in a box, for the macros take no mutating calls.
  private final class Rule {
    typealias State = AdmissionState<String>
    var state: State

    init(limit: Int, keyLimit: Int = .max, ageing: Duration? = nil) {
      state = State(limit: limit, keyLimit: keyLimit, ageing: ageing)
    }

    func enter(_ request: AdmissionRequest = AdmissionRequest()) -> State.Grant? {
      state.enter(request)
    }

    func wait(
      _ name: String, for request: AdmissionRequest = AdmissionRequest(), at now: Duration = .zero
    ) -> State.ID {
      state.wait(name, for: request, at: now)
    }

    func cancel(_ id: State.ID) -> String? { state.cancel(id) }

    func admit(at now: Duration = .zero) -> State.Admitted? { state.admit(at: now) }

    /// The names of all who may start now.
    func admitAll() -> [String] {
      var names: [String] = []
      while let admitted = state.admit() { names.append(admitted.waiter) }
      return names
    }
  }

  private func key(_ name: String) -> AdmissionKey { AdmissionKey(name) }

  // MARK: Order and weights

  @Test("A heavy waiter is not overtaken by light ones that would fit")
  func heavyFirst() throws {
    let rule = Rule(limit: 3)
    let grant = try #require(rule.enter(AdmissionRequest(weight: 1)))
    _ = rule.wait("heavy", for: AdmissionRequest(weight: 3))
    _ = rule.wait("light", for: AdmissionRequest(weight: 1))
    #expect(rule.admitAll() == [])
    #expect(rule.enter(AdmissionRequest()) == nil)
    rule.state.leave(grant)
    #expect(rule.admitAll() == ["heavy"])
    #expect(rule.state.inFlight == 3)
  }

  @Test("Weights are granted all or none, and what is cancelled gives room to those behind it")
  func allOrNone() throws {
    let rule = Rule(limit: 3)
    _ = try #require(rule.enter(AdmissionRequest(weight: 1)))
    let heavy = rule.wait("heavy", for: AdmissionRequest(weight: 3))
    _ = rule.wait("light", for: AdmissionRequest(weight: 1))
    #expect(rule.state.inFlight == 1)
    #expect(rule.cancel(heavy) == "heavy")
    #expect(rule.admitAll() == ["light"])
    #expect(rule.state.inFlight == 2)
  }

  @Test("What is heavier than the limit waits for all others, and then runs alone")
  func heavierThanTheLimit() throws {
    let rule = Rule(limit: 2)
    let grant = try #require(rule.enter(AdmissionRequest()))
    _ = rule.wait("heavy", for: AdmissionRequest(weight: 100))
    #expect(rule.admitAll() == [])
    rule.state.leave(grant)
    #expect(rule.admitAll() == ["heavy"])
    #expect(rule.state.inFlight == 2)
  }

  @Test("A flow of high priority starves a low one, unless waiting counts")
  func ageing() {
    for ageing: Duration? in [nil, .seconds(10)] {
      let rule = Rule(limit: 1, ageing: ageing)
      var lowStarted: Int?
      var grant = rule.enter(AdmissionRequest())
      _ = rule.wait("low", for: AdmissionRequest(priority: 0), at: .zero)
      for second in 1...100 {
        let now = Duration.seconds(second)
        _ = rule.wait("high", for: AdmissionRequest(priority: 3), at: now)
        grant.map { rule.state.leave($0) }
        let admitted = rule.admit(at: now)
        grant = admitted?.grant
        if admitted?.waiter == "low", lowStarted == nil { lowStarted = second }
      }
      // Three points of priority at ten seconds each.
      #expect(lowStarted == (ageing == nil ? nil : 30))
    }
  }

  // MARK: Limits

  @Test("Raising the limit lets all start who now fit, in order, without anybody ending")
  func raised() throws {
    let rule = Rule(limit: 1)
    _ = try #require(rule.enter(AdmissionRequest()))
    for name in ["a", "b", "c", "d"] { _ = rule.wait(name, for: AdmissionRequest()) }
    rule.state.setLimit(4)
    #expect(rule.admitAll() == ["a", "b", "c"])
  }

  @Test("The limit is what was set last, whatever it was before")
  func setAgainAndAgain() {
    var state = AdmissionState<Int>(limit: 1)
    var grants: [AdmissionState<Int>.Grant] = []
    for id in 0..<100 { _ = state.wait(id, for: AdmissionRequest()) }
    for limit in [1, 3, 1, 1, 5, 5, 2, 0, 4] {
      state.setLimit(limit)
      while let admitted = state.admit() { grants.append(admitted.grant) }
      while state.inFlight > limit { state.leave(grants.removeFirst()) }
      let next = state.admit()
      #expect(next == nil)
      #expect(state.inFlight == limit)
    }
  }

  @Test("Those in flight count under a limit that is set while they run")
  func setWhileUnlimited() throws {
    let rule = Rule(limit: .max)
    var grants = try (0..<50).map { _ in try #require(rule.enter(AdmissionRequest())) }
    rule.state.setLimit(5)
    _ = rule.wait("next", for: AdmissionRequest())
    while rule.state.inFlight > 5 {
      #expect(rule.admitAll() == [])
      rule.state.leave(grants.removeLast())
    }
    #expect(rule.admitAll() == [])
    rule.state.leave(grants.removeLast())
    #expect(rule.admitAll() == ["next"])
  }

  @Test("Every mix of what is in flight leaves room for just as many of each key", arguments: 0...3)
  func mixes(total: Int) {
    for (high, low) in (0...2).flatMap({ high in (0...1).map { (high, $0) } })
    where high + low <= total {
      let rule = Rule(limit: total, keyLimit: 2)
      rule.state.setLimit(1, forKey: key("low"))
      func startsOf(_ name: String) -> Int {
        var count = 0
        while rule.enter(AdmissionRequest(key: key(name))) != nil { count += 1 }
        return count
      }
      for _ in 0..<high { _ = rule.enter(AdmissionRequest(key: key("high"))) }
      for _ in 0..<low { _ = rule.enter(AdmissionRequest(key: key("low"))) }
      let before = rule.state
      #expect(startsOf("low") == min(1 - low, total - high - low))
      rule.state = before
      #expect(startsOf("high") == min(2 - high, total - high - low))
    }
  }

  // MARK: Keys

  @Test("A busy key does not keep another from starting")
  func busyKey() {
    let rule = Rule(limit: 6, keyLimit: 2)
    for index in 0..<100 {
      _ = rule.wait("busy \(index)", for: AdmissionRequest(key: key("busy")))
    }
    _ = rule.wait("quiet", for: AdmissionRequest(key: key("quiet")))
    #expect(rule.admitAll() == ["busy 0", "busy 1", "quiet"])
    #expect(rule.enter(AdmissionRequest(key: key("third"))) != nil)
  }

  @Test("Of 40,000 keys that were used, none is remembered")
  func idleKeys() {
    var state = AdmissionState<Int>(limit: 2, keyLimit: 1)
    for number in 0..<20_000 {
      let grant = state.enter(AdmissionRequest(key: AdmissionKey(number)))
      grant.map { state.leave($0) }
    }
    #expect(state.keys == 0)
    // Waiting and cancelled, as well as in flight.
    let ids = (0..<20_000).map {
      state.wait($0, for: AdmissionRequest(key: AdmissionKey($0)))
    }
    #expect(state.keys == 20_000)
    for id in ids { _ = state.cancel(id) }
    #expect(state.keys == 0)
  }

  @Test("A key that is forgotten and comes back keeps its own limit")
  func ownLimitIsKept() throws {
    let rule = Rule(limit: 10, keyLimit: 1)
    rule.state.setLimit(3, forKey: key("a"))
    let request = AdmissionRequest(key: key("a"))
    rule.state.leave(try #require(rule.enter(request)))
    #expect(rule.state.keys == 0)
    for _ in 0..<3 { #expect(rule.enter(request) != nil) }
    #expect(rule.enter(request) == nil)
    rule.state.setLimit(nil, forKey: key("a"))
    #expect(rule.state.counts(ofKey: key("a")).inFlight == 3)
  }

  @Test("A grant without a key is not one of a key that nobody uses")
  func grantOfNoKey() throws {
    let rule = Rule(limit: 2)
    let grant = try #require(rule.enter(AdmissionRequest()))
    #expect(rule.state.isGrant(grant, of: nil))
    #expect(!rule.state.isGrant(grant, of: key("unknown")))
  }

  // MARK: Barriers

  @Test("A barrier waits for all before it, and all behind it wait for the barrier")
  func barrier() throws {
    let rule = Rule(limit: 3)
    let first = try #require(rule.enter(AdmissionRequest()))
    _ = rule.wait("before", for: AdmissionRequest(weight: 3))
    _ = rule.wait("barrier", for: AdmissionRequest(isBarrier: true))
    _ = rule.wait("behind", for: AdmissionRequest(priority: 9))
    #expect(rule.enter(AdmissionRequest()) == nil)
    rule.state.leave(first)
    let before = try #require(rule.admit())
    #expect(before.waiter == "before")
    #expect(rule.admit() == nil)
    rule.state.leave(before.grant)
    let barrier = try #require(rule.admit())
    #expect(barrier.waiter == "barrier")
    #expect(rule.admit() == nil)
    rule.state.leave(barrier.grant)
    #expect(rule.admitAll() == ["behind"])
  }

  @Test("When a barrier is over and all is idle, there is room at once")
  func enterBehindBarrier() throws {
    let rule = Rule(limit: 1)
    _ = rule.wait("barrier", for: AdmissionRequest(isBarrier: true))
    let barrier = try #require(rule.admit())
    #expect(rule.enter(AdmissionRequest()) == nil)
    rule.state.leave(barrier.grant)
    #expect(rule.enter(AdmissionRequest()) != nil)
  }

  @Test("A barrier that is cancelled no longer keeps anybody apart")
  func cancelledBarrier() throws {
    let rule = Rule(limit: 3)
    _ = try #require(rule.enter(AdmissionRequest(weight: 3)))
    _ = rule.wait("before", for: AdmissionRequest(priority: 0))
    let barrier = rule.wait("barrier", for: AdmissionRequest(isBarrier: true))
    let behind = rule.wait("behind", for: AdmissionRequest(priority: 1))
    #expect(rule.state.hindrance(of: behind) == .barrier)
    #expect(rule.cancel(barrier) == "barrier")
    #expect(rule.state.hindrance(of: behind) == .limit)
    rule.state.setLimit(5)
    #expect(rule.admitAll() == ["behind", "before"])
  }

  // MARK: Memory

  @Test("A hundred thousand that waited leave no memory behind")
  func memory() throws {
    final class Object {}
    var state = AdmissionState<Object>(limit: 0)
    weak var last: Object?
    do {
      var ids: [AdmissionState<Object>.ID] = []
      for _ in 0..<100_000 {
        let object = Object()
        last = object
        ids.append(state.wait(object, for: AdmissionRequest()))
      }
      for id in ids { _ = state.cancel(id) }
    }
    #expect(last == nil)
    #expect(state.waiting == 0)
  }
}
