// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

extension Double {
  fileprivate var wholeNumber: Int { Int(rounded()) }
}

@Suite("A rate limit's state", .timeLimit(.minutes(1)))
struct RateLimitStateTests {
  /// What the state must agree with: every taking remembered, every rule tried out.
  private struct Model {
    var limit: RateLimit
    var starts: [(moment: Duration, tokens: Int)] = []

    /// What is in the bucket, by going through the history, in tokens times milliseconds of the
    /// period: so `limit.tokens` of it drip in each millisecond.
    func level(at now: Duration) -> Int {
      let full = limit.burst * (limit.period / .milliseconds(1)).wholeNumber
      var level = full
      var last = Duration.zero
      for start in starts + [(now, 0)] {
        let passed = ((start.moment - last) / .milliseconds(1)).wholeNumber
        level = min(full, level + passed * limit.tokens)
        level -= start.tokens * full / limit.burst
        last = start.moment
      }
      return level
    }

    func canTake(_ tokens: Int, at now: Duration) -> Bool {
      switch limit.kind {
      case .tokenBucket:
        level(at: now) >= tokens * (limit.period / .milliseconds(1)).wholeNumber
      case .slidingWindow:
        starts.filter { $0.moment + limit.period > now }.reduce(tokens) { $0 + $1.tokens }
          <= limit.tokens
      }
    }
  }

  /// Runs takers through a state one after the other, each as early as it may, and returns when.
  private func starts(
    _ count: Int, of limit: RateLimit, arriving: (Int) -> Duration = { _ in .zero }
  ) -> [Duration] {
    var state = RateLimitState(limit)
    var now = Duration.zero
    return (0..<count).map { index in
      now = max(now, arriving(index))
      if case .notBefore(let moment) = state.take(at: now) {
        now = moment
        #expect(state.take(at: now) == .taken)
      }
      return now
    }
  }

  @Test("agrees with a model that remembers everything, over random takings")
  func model() {
    for seed in 0..<400 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let tokens = [1, 2, 4, 8].randomElement(using: &generator) ?? 1
      let period = Duration.milliseconds(8 * Int.random(in: 1...4, using: &generator))
      let limit: RateLimit =
        Bool.random(using: &generator)
        ? .slidingWindow(tokens, per: period)
        : .tokenBucket(tokens, per: period, burst: .random(in: 1...8, using: &generator))
      var state = RateLimitState(limit)
      var model = Model(limit: limit)
      var now = Duration.zero
      for _ in 0..<60 {
        now += .milliseconds(Int.random(in: 0...9, using: &generator))
        let wanted = Int.random(in: 1...limit.burst, using: &generator)
        let canTake = model.canTake(wanted, at: now)
        switch state.take(wanted, at: now) {
        case .taken:
          #expect(canTake, "seed \(seed)")
          model.starts.append((now, wanted))
        case .notBefore(let moment):
          #expect(!canTake, "seed \(seed)")
          #expect(moment > now)
          #expect(model.canTake(wanted, at: moment), "seed \(seed)")
          #expect(!model.canTake(wanted, at: moment - .milliseconds(1)), "seed \(seed)")
        }
      }
    }
  }

  @Test("lets a burst through, then an even drip, from a bucket")
  func bucket() {
    let starts = starts(6, of: .tokenBucket(2, per: .seconds(1), burst: 3))
    #expect(starts == [0, 0, 0, 500, 1_000, 1_500].map { .milliseconds($0) })
  }

  @Test("fills a bucket no further than its burst in quiet times")
  func quiet() {
    var state = RateLimitState(.tokenBucket(2, per: .seconds(1), burst: 3))
    #expect(state.available(at: .seconds(1_000)) == 3)
    #expect(state.take(3, at: .seconds(1_000)) == .taken)
    #expect(state.take(at: .seconds(1_000)) == .notBefore(.milliseconds(1_000_500)))
  }

  @Test("gives back thirds of a second whole")
  func thirds() {
    var state = RateLimitState(.tokenBucket(3, per: .seconds(1)))
    for second in 0..<1_000 {
      #expect(state.take(3, at: .seconds(second)) == .taken)
    }
  }

  @Test("starts at once after an idle spell, for the window is counted from each start")
  func idleSpell() {
    let arrivals = [0, 600, 1_100].map { Duration.milliseconds($0) }
    let starts = starts(3, of: .slidingWindow(2, per: .milliseconds(1_000))) { arrivals[$0] }
    #expect(starts == arrivals)
  }

  @Test("keeps the cap in every window of that length, for ten thousand starts")
  func strict() {
    for seed in 0..<4 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      var arrival = Duration.zero
      let cap = Int.random(in: 1...40, using: &generator)
      let starts = starts(10_000, of: .slidingWindow(cap, per: .seconds(1))) { _ in
        arrival += .milliseconds(Int.random(in: 0...(1_000 / cap), using: &generator))
        return arrival
      }
      // The window that begins with a start is the worst one.
      for index in starts.indices.dropFirst(cap) {
        #expect(starts[index] >= starts[index - cap] + .seconds(1))
      }
      #expect(starts == starts.sorted())
      // And nobody waits for nothing: what is over the cap starts when its window ends.
      #expect(starts.last ?? .zero <= max(arrival, .seconds(10_000 / cap)) + .seconds(1))
    }
  }

  @Test("takes all tokens or none")
  func weights() {
    var state = RateLimitState(.slidingWindow(5, per: .seconds(1)))
    #expect(state.take(3, at: .zero) == .taken)
    #expect(state.take(2, at: .milliseconds(400)) == .taken)
    #expect(state.take(4, at: .milliseconds(500)) == .notBefore(.milliseconds(1_400)))
    #expect(state.take(3, at: .milliseconds(500)) == .notBefore(.milliseconds(1_000)))
    #expect(state.available(at: .milliseconds(999)) == 0)
    #expect(state.available(at: .milliseconds(1_000)) == 3)
  }

  @Test("conserves tokens: what is given back was never taken", arguments: [true, false])
  func givingBack(isWindow: Bool) {
    let limit: RateLimit =
      isWindow ? .slidingWindow(4, per: .seconds(1)) : .tokenBucket(4, per: .seconds(1))
    for seed in 0..<200 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      var state = RateLimitState(limit)
      var twin = state
      var now = Duration.zero
      for _ in 0..<40 {
        now += .milliseconds(Int.random(in: 0...400, using: &generator))
        let tokens = Int.random(in: 1...4, using: &generator)
        if Bool.random(using: &generator), state.take(tokens, at: now) == .taken {
          state.giveBack(tokens, takenAt: now)
        } else {
          #expect(state.take(tokens, at: now) == twin.take(tokens, at: now), "seed \(seed)")
        }
        #expect(state.available(at: now) == twin.available(at: now), "seed \(seed)")
      }
    }
  }

  @Test("goes on refilling when the limit is changed, and changes nothing by the same limit")
  func changes() {
    var state = RateLimitState(.tokenBucket(1, per: .seconds(1), burst: 2))
    #expect(state.take(2, at: .zero) == .taken)
    state.setLimit(.tokenBucket(1, per: .seconds(1), burst: 2), at: .milliseconds(900))
    #expect(state.take(at: .milliseconds(900)) == .notBefore(.seconds(1)))
    // Half a token has come when the rate is doubled; the other half takes half as long.
    state.setLimit(.tokenBucket(2, per: .seconds(1), burst: 2), at: .milliseconds(500))
    #expect(state.take(at: .milliseconds(500)) == .notBefore(.milliseconds(750)))
  }

  @Test("refills even if the limit changes more often than a token drips")
  func restless() {
    var state = RateLimitState(.tokenBucket(1, per: .seconds(1), burst: 1))
    #expect(state.take(at: .zero) == .taken)
    for tick in 1...10 {
      let limit = RateLimit.tokenBucket(1, per: .seconds(1), burst: tick.isMultiple(of: 2) ? 1 : 2)
      state.setLimit(limit, at: .milliseconds(tick * 100))
    }
    #expect(state.available(at: .milliseconds(1_000)) == 1)
  }

  @Test("keeps what was taken when the kind of limit changes")
  func kinds() {
    var state = RateLimitState(.tokenBucket(4, per: .seconds(1)))
    #expect(state.take(4, at: .seconds(1)) == .taken)
    state.setLimit(.slidingWindow(4, per: .seconds(1)), at: .seconds(1))
    #expect(state.take(at: .seconds(1)) == .notBefore(.seconds(2)))
    state.setLimit(.tokenBucket(4, per: .seconds(1)), at: .seconds(1))
    #expect(state.take(at: .seconds(1)) == .notBefore(.milliseconds(1_250)))
    state.setLimit(.slidingWindow(2, per: .milliseconds(100)), at: .milliseconds(1_250))
    #expect(state.available(at: .milliseconds(1_350)) == 2)
  }

  @Test("lets those through who asked for more than a lowered limit, when all of it is there")
  func lowered() {
    var state = RateLimitState(.slidingWindow(9, per: .seconds(1)))
    #expect(state.take(1, at: .zero) == .taken)
    state.setLimit(.slidingWindow(2, per: .seconds(1)), at: .zero)
    #expect(state.take(5, at: .zero) == .notBefore(.seconds(1)))
    #expect(state.take(5, at: .seconds(1)) == .taken)
    #expect(state.take(1, at: .seconds(1)) == .notBefore(.seconds(2)))
  }

  @Test("forgets what has left the window")
  func memory() {
    var window = SlidingWindow(.slidingWindow(3, per: .seconds(1)))
    for second in 0..<100_000 { window.record(1, at: .seconds(second)) }
    #expect(window.takings.count <= 2)
  }

  @Test("refuses a rate that is none")
  func refusals() async {
    await #expect(processExitsWith: .failure) { _ = RateLimit.slidingWindow(0, per: .seconds(1)) }
    await #expect(processExitsWith: .failure) { _ = RateLimit.tokenBucket(1, per: .zero) }
    await #expect(processExitsWith: .failure) {
      _ = RateLimit.tokenBucket(1, per: .seconds(1), burst: 0)
    }
  }
}
