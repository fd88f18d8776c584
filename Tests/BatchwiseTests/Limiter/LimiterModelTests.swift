// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("LimiterState against its model", .timeLimit(.minutes(2)))
struct LimiterModelTests {
  @Test("It does what its model does, whatever meets what", arguments: 1...5, [true, false])
  func random(seed: UInt64, shares: Bool) async {
    var random = SeededGenerator(seed: seed)
    var met: Set<String> = []
    for round in 0..<200 {
      await Task.yield()
      var pair = LimiterPair(
        limit: Int.random(in: 0...3, using: &random), nesting: shares ? .shares : .fails)
      var events: [LimiterPair.Event] = []
      for _ in 0..<100 {
        events.append(pair.randomEvent(using: &random))
        guard let difference = pair.take(events[events.count - 1]) else { continue }
        Issue.record("seed \(seed), round \(round): \(difference) after \(events.suffix(16))")
        return
      }
      met.formUnion(pair.met)
      guard let difference = pair.drain() else { continue }
      Issue.record("seed \(seed), round \(round), at the end: \(difference) after \(events)")
      return
    }
    let phases = ["new", "suspended", "granted", "cancelled"]
    let pairs =
      phases.flatMap { ["\($0) is cancelled", "\($0) is raised"] }
      + ["new", "granted", "cancelled"].map { "\($0) is suspended" }
    // Who is cancelled or granted once suspended is gone, and that is all it can miss.
    #expect(Set(pairs).subtracting(met).isEmpty)
  }

  @Test("It does what its model does in every small world", arguments: [true, false])
  func exhaustive(shares: Bool) {
    let events: [LimiterPair.Event] = [
      .ask(weight: 1, priority: 0, inside: 0), .ask(weight: 2, priority: 1, inside: 0),
      .ask(weight: 1, priority: 0, inside: 1), .ask(weight: 1, priority: 0, inside: 2),
      .enter(weight: 1, inside: 0), .suspend(0), .suspend(1), .cancel(0), .cancel(1), .leave(0),
      .leave(1), .setLimit(1),
    ]
    var histories = 0
    func walk(_ pair: LimiterPair, _ history: [LimiterPair.Event]) -> String? {
      histories += 1
      if history.count == 4 {
        var pair = pair
        return pair.drain().map { "\($0) at the end of \(history)" }
      }
      for event in events {
        var next = pair
        if let difference = next.take(event) { return "\(difference) after \(history), \(event)" }
        if let difference = walk(next, history + [event]) { return difference }
      }
      return nil
    }
    #expect(walk(LimiterPair(limit: 1, nesting: shares ? .shares : .fails), []) == nil)
    #expect(histories == 1 + 12 + 144 + 1728 + 20736)
  }
}
