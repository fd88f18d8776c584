// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

/// What every rule has to do, whatever it looks at.
@Suite("An adaptive limit", .timeLimit(.minutes(2)))
struct AdaptiveLimitTests {
  private static func rules(initial: Int, within bounds: ClosedRange<Int>) -> [any AdaptiveLimit] {
    [
      AIMDLimit(initial: initial, within: bounds), GradientLimit(initial: initial, within: bounds),
    ]
  }

  private func feed(
    _ ending: LimitSample.Ending, to rule: inout any AdaptiveLimit, times: Int, inFlight: Int? = nil
  ) {
    for _ in 0..<times {
      rule.record(LimitSample(ending, inFlight: inFlight ?? rule.limit))
    }
  }

  @Test("falls when everything times out, however steady that looks")
  func timeouts() {
    for var rule in Self.rules(initial: 50, within: 1...200) {
      feed(.success(.milliseconds(10)), to: &rule, times: 500)
      let before = rule.limit
      feed(.dropped, to: &rule, times: 1_000)
      #expect(rule.limit < before / 4)
    }
  }

  @Test("does not rise while everything fails at once")
  func instantFailures() {
    for ending in [LimitSample.Ending.dropped, .ignored] {
      for rule in Self.rules(initial: 20, within: 1...200) {
        func run(_ rule: some AdaptiveLimit) -> Int {
          var service = SimulatedService(capacity: 10, rule: rule)
          service.outage = ending
          for _ in 0..<1_000 {
            service.run(1)
            #expect(service.rule.limit <= 20)
          }
          return service.rule.limit
        }
        #expect(run(rule) == (ending == .ignored ? 20 : 1))
      }
    }
  }

  @Test("takes no notice of what is ignored, such as the caller's own cancellations")
  func ignored() {
    for var rule in Self.rules(initial: 20, within: 1...200) {
      feed(.success(.milliseconds(10)), to: &rule, times: 100)
      var twin = rule
      for _ in 0..<200 {
        feed(.ignored, to: &rule, times: 3)
        feed(.success(.milliseconds(10)), to: &rule, times: 1)
        feed(.success(.milliseconds(10)), to: &twin, times: 1)
        #expect(rule.limit == twin.limit)
      }
    }
  }

  @Test("stays at its upper bound while all is well")
  func atTheTop() {
    var aimd: any AdaptiveLimit = AIMDLimit(initial: 19, within: 1...20)
    feed(.success(.milliseconds(10)), to: &aimd, times: 100)
    for _ in 0..<10_000 {
      feed(.success(.milliseconds(10)), to: &aimd, times: 1)
      #expect(aimd.limit == 20)
    }
    // Apart from the rounds in which it finds out what is normal.
    var gradient: any AdaptiveLimit = GradientLimit(
      initial: 19, within: 1...20, roundsBetweenProbes: .max)
    feed(.success(.milliseconds(10)), to: &gradient, times: 100)
    for _ in 0..<10_000 {
      feed(.success(.milliseconds(10)), to: &gradient, times: 1)
      #expect(gradient.limit == 20)
    }
  }

  @Test("falls to its lower bound when all is dropped, and recovers after that")
  func recovery() {
    for var rule in Self.rules(initial: 100, within: 3...100) {
      feed(.dropped, to: &rule, times: 2_000)
      #expect(rule.limit == 3)
      feed(.success(.milliseconds(10)), to: &rule, times: 20_000)
      #expect(rule.limit >= 50)
    }
  }

  @Test("falls once for all that is dropped together")
  func together() {
    for var rule in Self.rules(initial: 100, within: 1...100) {
      feed(.dropped, to: &rule, times: 100, inFlight: 100)
      #expect(rule.limit == 75)
      feed(.dropped, to: &rule, times: 1)
      #expect(rule.limit == 56)
    }
  }

  @Test("does not rise while less than half of it is used")
  func idle() {
    for var rule in Self.rules(initial: 20, within: 1...200) {
      feed(.success(.milliseconds(10)), to: &rule, times: 5_000, inFlight: 9)
      #expect(rule.limit == 20)
    }
  }

  @Test("stays within its bounds, whatever it is told")
  func bounds() {
    for seed in 0..<200 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let bounds =
        Int.random(in: 1...5, using: &generator)...Int.random(in: 5...50, using: &generator)
      for var rule in Self.rules(initial: .random(in: -9...99, using: &generator), within: bounds) {
        for _ in 0..<500 {
          let time = Duration.milliseconds(Int.random(in: 0...50, using: &generator))
          let endings: [LimitSample.Ending] = [.success(time), .success(time), .dropped, .ignored]
          let ending = endings.randomElement(using: &generator) ?? .ignored
          let inFlight = Int.random(in: 0...60, using: &generator)
          feed(ending, to: &rule, times: 1, inFlight: inFlight)
          #expect(bounds.contains(rule.limit), "seed \(seed)")
        }
      }
    }
  }

  @Test("finds what a service can do, from below and from above, by its drops")
  func aimdConvergence() async {
    for capacity in [5, 20, 60] {
      for initial in [1, 400] {
        await Task.yield()
        var service = SimulatedService(
          capacity: capacity, rule: AIMDLimit(initial: initial, within: 1...400))
        service.timeout = .milliseconds(240)
        service.run(12_000)
        let mean = service.run(6_000)
        // A queue of once the capacity is what the timeout allows.
        #expect(mean >= Double(capacity) * 1.2, "\(mean) for \(capacity)")
        #expect(mean <= Double(capacity) * 2.4, "\(mean) for \(capacity)")
      }
    }
  }

  @Test("finds what a service can do, from below and from above, by its times and without a drop")
  func gradientConvergence() async {
    for capacity in [5, 20, 100] {
      for initial in [1, 400] {
        await Task.yield()
        var service = SimulatedService(
          capacity: capacity, rule: GradientLimit(initial: initial, within: 1...400))
        service.run(10_000)
        let mean = service.run(5_000)
        #expect(mean >= Double(capacity) * 0.9, "\(mean) for \(capacity)")
        #expect(mean <= Double(capacity) * 1.8 + 4, "\(mean) for \(capacity)")
      }
    }
  }

  @Test("follows a service that can do less, and then more again")
  func changingCapacity() {
    var service = SimulatedService(
      capacity: 60, rule: GradientLimit(initial: 10, within: 1...400))
    service.run(12_000)
    service.capacity = 15
    service.run(8_000)
    #expect(service.run(5_000) <= 15 * 1.8 + 4)
    service.capacity = 60
    service.run(8_000)
    #expect(service.run(5_000) >= 60 * 0.9)
  }

  @Test("does not take a service that has become slower for good for one with a queue")
  func slowerForGood() {
    var service = SimulatedService(
      capacity: 40, rule: GradientLimit(initial: 10, within: 1...400))
    service.run(12_000)
    service.time *= 3
    service.run(8_000)
    #expect(service.run(5_000) >= 40 * 0.9)
  }

  @Test("keeps its limit over an idle time, and uses it at once after that")
  func idleSpell() {
    for rule in Self.rules(initial: 10, within: 1...400) {
      func run(_ rule: some AdaptiveLimit) {
        var service = SimulatedService(capacity: 40, rule: rule)
        service.timeout = .milliseconds(240)
        let before = service.run(12_000)
        service.demand = 2
        service.run(5_000)
        #expect(Double(service.rule.limit) >= before * 0.4)
        service.demand = .max
        #expect(service.run(5_000) >= before * 0.5)
      }
      run(rule)
    }
  }

  @Test("refuses bounds and shares that make no sense")
  func refusals() async {
    await #expect(processExitsWith: .failure) { _ = AIMDLimit(initial: 1, within: 0...4) }
    await #expect(processExitsWith: .failure) {
      _ = AIMDLimit(initial: 1, within: 1...4, decrease: 1)
    }
    await #expect(processExitsWith: .failure) {
      _ = GradientLimit(initial: 1, within: 1...4, tolerance: 0.9)
    }
  }
}
