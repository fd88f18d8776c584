// SPDX-License-Identifier: Apache-2.0

import CurlTransport
import Testing

@Suite("Whose turn it is to look a host up", .timeLimit(.minutes(1)))
struct LookupStateTests {
  private typealias State = LookupState<Int>
  private typealias Leader = State.Leader

  private func state(limit: Int = 16) -> State { State(limit: limit, memory: .seconds(8)) }

  @Test("is the first one's, and the others share what it finds")
  func joined() {
    var state = state()
    #expect(state.turn(of: 1, to: "a", at: .zero) == .lookUp)
    for waiter in 2...4 { #expect(state.turn(of: waiter, to: "a", at: .zero) == .wait) }
    #expect(state.waiting == 3)
    #expect(state.found("a", at: .seconds(1)) == State.Outcome(go: [2, 3, 4]))
    #expect(state.waiting == 0)
    #expect(state.turn(of: 5, to: "a", at: .seconds(8)) == .go)
    #expect(state.turn(of: 6, to: "a", at: .seconds(9)) == .lookUp, "it is known for 8 s")
  }

  @Test("ends in one failure for all")
  func failed() {
    var state = state()
    _ = state.turn(of: 1, to: "a", at: .zero)
    _ = state.turn(of: 2, to: "a", at: .zero)
    _ = state.turn(of: 3, to: "b", at: .zero)
    #expect(state.failed("a") == State.Outcome(fail: [2]))
    #expect(state.turn(of: 1, to: "a", at: .zero) == .lookUp, "and it may be tried again")
  }

  @Test("passes on when it was not needed")
  func passed() {
    var state = state()
    _ = state.turn(of: 1, to: "a", at: .zero)
    _ = state.turn(of: 2, to: "a", at: .zero)
    _ = state.turn(of: 3, to: "a", at: .zero)
    #expect(state.passed("a") == State.Outcome(lookUp: [Leader(waiter: 2, host: "a")]))
    #expect(state.passed("a") == State.Outcome(lookUp: [Leader(waiter: 3, host: "a")]))
    #expect(state.passed("a") == State.Outcome())
    #expect(state.turn(of: 4, to: "a", at: .zero) == .lookUp)
  }

  @Test("comes to so many hosts at once, in the order in which they came")
  func limit() {
    var state = state(limit: 2)
    #expect(state.turn(of: 1, to: "a", at: .zero) == .lookUp)
    #expect(state.turn(of: 2, to: "b", at: .zero) == .lookUp)
    for (waiter, host) in [(3, "c"), (4, "d"), (5, "c"), (6, "a")] {
      #expect(state.turn(of: waiter, to: host, at: .zero) == .wait)
    }
    #expect(
      state.found("a", at: .zero) == State.Outcome(go: [6], lookUp: [Leader(waiter: 3, host: "c")]))
    #expect(state.failed("b") == State.Outcome(lookUp: [Leader(waiter: 4, host: "d")]))
    #expect(state.found("c", at: .zero) == State.Outcome(go: [5]))
  }

  @Test("is not waited for by who has left")
  func withdrawn() {
    var state = state(limit: 1)
    _ = state.turn(of: 1, to: "a", at: .zero)
    _ = state.turn(of: 2, to: "a", at: .zero)
    _ = state.turn(of: 3, to: "b", at: .zero)
    _ = state.turn(of: 4, to: "c", at: .zero)
    state.withdraw(2, from: "a")
    state.withdraw(3, from: "b")
    state.withdraw(3, from: "nowhere")
    #expect(state.found("a", at: .zero) == State.Outcome(lookUp: [Leader(waiter: 4, host: "c")]))
    #expect(state.turn(of: 5, to: "b", at: .zero) == .wait, "only one at once")
    #expect(state.failed("c") == State.Outcome(lookUp: [Leader(waiter: 5, host: "b")]))
  }

  @Test("is nobody's for a host that nobody asked for")
  func unknown() {
    var state = state()
    #expect(state.found("a", at: .zero).isEmpty)
    #expect(state.failed("a").isEmpty)
    #expect(state.passed("a").isEmpty)
    #expect(state.turn(of: 1, to: "a", at: .zero) == .lookUp)
  }

  @Test(
    "comes to everyone once, whatever happens, with never too many at once",
    arguments: [1, 2, 16])
  func series(_ limit: Int) {
    for seed in 0..<300 as Range<UInt64> {
      var random = Random(seed: seed)
      var state = state(limit: limit)
      var now = Duration.zero
      var next = 0
      var waiting: [Int: String] = [:]
      var leading: [String: Int] = [:]
      for _ in 0..<120 {
        now += .milliseconds(random.below(900))
        let host = "\(random.below(8))"
        var outcome = State.Outcome()
        switch random.below(6) {
        case 0, 1, 2:
          next += 1
          switch state.turn(of: next, to: host, at: now) {
          case .go: #expect(leading[host] == nil)
          case .wait: waiting[next] = host
          case .lookUp:
            #expect(leading[host] == nil)
            leading[host] = next
          }
        case 3:
          if leading.removeValue(forKey: host) != nil { outcome = state.found(host, at: now) }
        case 4:
          if leading.removeValue(forKey: host) != nil {
            outcome = random.below(2) == 0 ? state.failed(host) : state.passed(host)
          }
        default:
          if let (waiter, host) = waiting.min(by: { $0.key < $1.key }) {
            waiting[waiter] = nil
            state.withdraw(waiter, from: host)
          }
        }
        for waiter in outcome.go + outcome.fail {
          #expect(waiting.removeValue(forKey: waiter) == host)
        }
        for leader in outcome.lookUp {
          #expect(waiting.removeValue(forKey: leader.waiter) == leader.host)
          #expect(leading[leader.host] == nil)
          leading[leader.host] = leader.waiter
        }
        #expect(leading.count <= limit)
        #expect(state.waiting == waiting.count)
        #expect(
          waiting.isEmpty || leading.count == limit
            || waiting.values.allSatisfy { leading[$0] != nil })
      }
    }
  }

  /// A series of numbers that is the same for the same seed.
  private struct Random {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 2_654_435_761 &+ 1 }

    mutating func below(_ limit: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % limit
    }
  }
}
