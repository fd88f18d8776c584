// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("An alarm's state", .timeLimit(.minutes(1)))
struct AlarmStateTests {
  @Test("adds a sleeper only for a deadline that is earlier than all others sleep for")
  func sleepers() {
    var state = AlarmState<String>()
    let far = state.set("far", at: .seconds(9))
    #expect(far.sleeper?.deadline == .seconds(9))
    #expect(state.set("farther", at: .seconds(10)).sleeper == nil)
    #expect(state.set("as far", at: .seconds(9)).sleeper == nil)
    #expect(state.set("near", at: .seconds(3)).sleeper?.deadline == .seconds(3))
    #expect(state.sleeperCount == 2)
  }

  @Test("gives back what is due, in the order of the deadlines, and sleeps for the next")
  func due() throws {
    var state = AlarmState<String>()
    let sleeper = try #require(state.set("b", at: .seconds(2)).sleeper)
    _ = state.set("d", at: .seconds(4))
    _ = state.set("c", at: .seconds(3))
    _ = state.set("b too", at: .seconds(2))
    let woken = state.wake(sleeper, at: .seconds(3))
    #expect(woken.due == ["b", "b too", "c"])
    #expect(woken.sleeper?.deadline == .seconds(4))
    #expect(state.count == 1)
  }

  @Test("forgets what is cancelled, and sleeps no further when nothing is left")
  func cancellation() throws {
    var state = AlarmState<String>()
    let (id, sleeper) = state.set("a", at: .seconds(2))
    #expect(state.cancel(id) == "a")
    #expect(state.cancel(id) == nil)
    let woken = state.wake(try #require(sleeper), at: .seconds(2))
    #expect(woken.due.isEmpty)
    #expect(woken.sleeper == nil)
    #expect(state.sleeperCount == 0)
  }

  @Test("sleeps again when it was woken too early")
  func early() throws {
    var state = AlarmState<String>()
    let sleeper = try #require(state.set("a", at: .seconds(2)).sleeper)
    let woken = state.wake(sleeper, at: .seconds(1))
    #expect(woken.due.isEmpty)
    #expect(woken.sleeper?.deadline == .seconds(2))
  }

  @Test("keeps one sleeper for any number of timeouts of the same length")
  func timeouts() {
    var state = AlarmState<Int>()
    for number in 0..<10_000 {
      let (id, sleeper) = state.set(number, at: .seconds(60) + .milliseconds(number))
      #expect((sleeper != nil) == (number == 0))
      #expect(state.cancel(id) == number)
    }
    #expect(state.sleeperCount == 1)
  }

  @Test("agrees with a sorted list, over random events")
  func model() async {
    for seed in 0..<500 as Range<UInt64> {
      await Task.yield()
      var generator = SeededGenerator(seed: seed)
      var state = AlarmState<Int>()
      var model: [(deadline: Int, number: Int, id: AlarmState<Int>.ID)] = []
      var sleepers: [AlarmState<Int>.Sleeper] = []
      var now = 0
      func begin(_ sleeper: AlarmState<Int>.Sleeper?) {
        if let sleeper { sleepers.append(sleeper) }
      }
      for number in 0..<80 {
        switch Int.random(in: 0..<4, using: &generator) {
        case 0, 1:
          let deadline = now + Int.random(in: -2...20, using: &generator)
          let (id, sleeper) = state.set(number, at: .seconds(deadline))
          model.append((deadline, number, id))
          begin(sleeper)
        case 2:
          guard let index = model.indices.randomElement(using: &generator) else { continue }
          let entry = model.remove(at: index)
          #expect(state.cancel(entry.id) == entry.number)
        default:
          now += Int.random(in: 0...5, using: &generator)
          while let sleeper = sleepers.filter({ $0.deadline <= .seconds(now) }).randomElement(
            using: &generator)
          {
            sleepers.removeAll { $0 == sleeper }
            let due = model.filter { $0.deadline <= now }
              .sorted { ($0.deadline, $0.number) < ($1.deadline, $1.number) }.map(\.number)
            model.removeAll { $0.deadline <= now }
            let woken = state.wake(sleeper, at: .seconds(now))
            #expect(woken.due == due, "seed \(seed)")
            begin(woken.sleeper)
          }
        }
        // Whatever is set, somebody wakes for it.
        let earliest = model.map(\.deadline).min().map { Duration.seconds($0) }
        if let earliest {
          #expect(sleepers.contains { $0.deadline <= earliest }, "seed \(seed)")
        }
        #expect(state.count == model.count)
        #expect(state.sleeperCount == sleepers.count)
      }
    }
  }
}
