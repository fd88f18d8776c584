// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting

@testable import Batchwise

/// A service that does so much at once, and makes the rest queue; callers keep as much in flight
/// as a rule lets them.
///
/// A heap of endings is all there is of time: no clock, no task.
struct SimulatedService<Limit: AdaptiveLimit> {
  /// How much it does at once.
  var capacity: Int
  /// How long one thing takes without a queue, within a fifth more or less.
  var time = Duration.milliseconds(100)
  /// After how long callers give up; nil for never.
  var timeout: Duration?
  /// How much the callers want in flight.
  var demand = Int.max
  /// What everything ends with instead of a success.
  var outage: LimitSample.Ending?

  var rule: Limit
  private var generator: SeededGenerator
  private var endings = IndexedHeap<Duration, LimitSample>()
  /// When what it does now will be done.
  private var places = IndexedHeap<Duration, Void>()
  private var now = Duration.zero
  /// How many were done in time.
  private(set) var done = 0

  init(capacity: Int, rule: Limit, seed: UInt64 = 0) {
    self.capacity = capacity
    self.rule = rule
    generator = SeededGenerator(seed: seed)
  }

  /// Lets so many endings happen, and returns the mean limit over the second half of them.
  @discardableResult
  mutating func run(_ count: Int) -> Double {
    var sum = 0
    for index in 0..<count {
      begin()
      guard let (_, moment, sample) = endings.popFirst() else { break }
      now = moment
      if case .success = sample.ending { done += 1 }
      rule.record(sample)
      if index >= count / 2 { sum += rule.limit }
    }
    return Double(sum) / Double(count - count / 2)
  }

  private mutating func begin() {
    while endings.count < min(rule.limit, demand) {
      let inFlight = endings.count + 1
      if let outage {
        let moment = now + .milliseconds(1)
        _ = endings.insert(LimitSample(outage, inFlight: inFlight), rank: moment)
        continue
      }
      // With a place free or one ending before now it is begun at once, and otherwise when one
      // ends.
      var begun = now
      while places.count >= capacity, let (_, free, _) = places.popFirst() {
        begun = max(now, free)
      }
      let end = begun + time * Double.random(in: 0.8...1.2, using: &generator)
      _ = places.insert((), rank: end)
      let taken = end - now
      if let timeout, taken > timeout {
        _ = endings.insert(LimitSample(.dropped, inFlight: inFlight), rank: now + timeout)
      } else {
        _ = endings.insert(LimitSample(.success(taken), inFlight: inFlight), rank: end)
      }
    }
  }
}
