// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("AdmissionState against its model", .timeLimit(.minutes(2)))
struct AdmissionModelTests {
  @Test("It does what two scanned arrays do, for 240,000 random steps", arguments: 1...6)
  func random(seed: UInt64) async {
    var random = SeededGenerator(seed: seed)
    for round in 0..<100 {
      await Task.yield()
      let ageing: Duration? = round.isMultiple(of: 3) ? .seconds(2) : nil
      var pair = AdmissionPair(
        limit: Int.random(in: 0...4, using: &random),
        keyLimit: Int.random(in: 0...2, using: &random), ageing: ageing)
      var events: [AdmissionPair.Event] = []
      for _ in 0..<400 {
        events.append(pair.randomEvent(using: &random))
        guard let difference = pair.take(events[events.count - 1]) else { continue }
        Issue.record("seed \(seed), round \(round): \(difference) after \(events.suffix(12))")
        return
      }
      guard let difference = pair.drain() else { continue }
      Issue.record("seed \(seed), round \(round), at the end: \(difference)")
      return
    }
  }

  /// Thirteen events in every order, four deep, each history played out to its end.
  @Test("It does what two scanned arrays do in every small world", arguments: [1, 2])
  func exhaustive(limit: Int) {
    let events: [AdmissionPair.Event] = [
      .enter(weight: 1, key: 0), .enter(weight: 1, key: nil),
      .wait(priority: 0, weight: 1, key: nil), .wait(priority: 1, weight: 2, key: 0),
      .wait(priority: 0, weight: 1, key: 1), .barrier(key: nil), .enterBarrier, .cancel(0),
      .leave(0), .leave(1),
      .setLimit(0), .setLimit(2), .comeBack(0),
    ]
    var histories = 0
    func walk(_ pair: AdmissionPair, _ history: [AdmissionPair.Event]) -> String? {
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
    #expect(walk(AdmissionPair(limit: limit, keyLimit: 1), []) == nil)
    #expect(histories == (0...4).reduce(0) { sum, depth in sum + power(13, depth) })
  }

  private func power(_ base: Int, _ exponent: Int) -> Int {
    (0..<exponent).reduce(1) { product, _ in product * base }
  }
}
