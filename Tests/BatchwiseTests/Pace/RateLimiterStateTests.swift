// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("A rate limiter's state", .timeLimit(.minutes(1)))
struct RateLimiterStateTests {
  private typealias State = RateLimiterState<Int>

  /// What has happened to a state, and what is to happen.
  private struct World {
    var state: State
    var now = Duration.zero
    var alarms: [Duration] = []
    var waiting: [(number: Int, id: State.ID)] = []
    var granted: [(number: Int, at: Duration)] = []

    mutating func follow(_ action: State.Action) {
      for number in action.granted {
        granted.append((number, now))
        waiting.removeAll { $0.number == number }
      }
      if let alarm = action.alarm { alarms.append(alarm) }
    }
  }

  @Test("grants in order, loses nobody, and always has an alarm for the first, over random events")
  func model() async {
    for seed in 0..<1_000 as Range<UInt64> {
      await Task.yield()
      var generator = SeededGenerator(seed: seed)
      let cap = Int.random(in: 1...4, using: &generator)
      var world = World(state: State(.slidingWindow(cap, per: .seconds(1))))
      var cancelled: Set<Int> = []
      for number in 0..<40 {
        switch Int.random(in: 0..<5, using: &generator) {
        case 0, 1:
          let (id, action) = world.state.park(number, for: 1, at: world.now)
          world.waiting.append((number, id))
          world.follow(action)
        case 2:
          guard let victim = world.waiting.randomElement(using: &generator) else { continue }
          world.waiting.removeAll { $0.number == victim.number }
          cancelled.insert(victim.number)
          let (waiter, action) = world.state.cancel(victim.id, at: world.now)
          #expect(waiter == victim.number)
          let (nobody, _) = world.state.cancel(victim.id, at: world.now)
          #expect(nobody == nil)
          world.follow(action)
        case 3:
          // Whoever tries overtakes nobody.
          let isFree = world.waiting.isEmpty
          if world.state.take(1, at: world.now) {
            #expect(isFree, "seed \(seed)")
            world.granted.append((number, world.now))
          }
        default:
          // To the next alarm, or less far.
          guard let alarm = world.alarms.min() else { continue }
          world.now = max(
            world.now, Bool.random(using: &generator) ? alarm : alarm - .milliseconds(100))
          guard world.now >= alarm else { continue }
          world.alarms.removeAll { $0 <= world.now }
          world.follow(world.state.admit(at: world.now))
        }
        #expect(world.state.waiting == world.waiting.count, "seed \(seed)")
        if !world.waiting.isEmpty { #expect(!world.alarms.isEmpty, "seed \(seed)") }
      }
      while let alarm = world.alarms.min() {
        world.alarms.removeAll { $0 <= alarm }
        world.now = max(world.now, alarm)
        world.follow(world.state.admit(at: world.now))
      }
      #expect(world.waiting.isEmpty, "seed \(seed)")
      let numbers = world.granted.map(\.number)
      #expect(numbers == numbers.sorted(), "seed \(seed)")
      #expect(cancelled.isDisjoint(with: numbers))
      for index in numbers.indices.dropFirst(cap) {
        #expect(
          world.granted[index].at >= world.granted[index - cap].at + .seconds(1), "seed \(seed)")
      }
    }
  }

  @Test("asks for an alarm only when the first needs an earlier one")
  func alarms() {
    var state = State(.slidingWindow(2, per: .seconds(1)))
    let taken = [0, 500].map { state.take(1, at: .milliseconds($0)) }
    #expect(taken == [true, true])
    let (large, first) = state.park(1, for: 2, at: .milliseconds(500))
    #expect(first.alarm == .milliseconds(1_500))
    let (_, second) = state.park(2, for: 1, at: .milliseconds(500))
    #expect(second.alarm == nil)
    // The one behind can go earlier than the one before it could.
    let (_, third) = state.cancel(large, at: .milliseconds(600))
    #expect(third.alarm == .seconds(1))
    let granted = [1_000, 1_500].map { state.admit(at: .milliseconds($0)).granted }
    #expect(granted == [[2], []])
  }
}
