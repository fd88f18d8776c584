// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import BatchwiseDispatch

/// A bounded queue as its documentation tells it.
private struct NaiveDispatch {
  var limit: Int
  var suspensions = 0
  var waiting: [Int] = []
  var inFlight: [Int] = []
  var notifications: [Int] = []

  /// Starts what may start, and tells those who wait for the end.
  mutating func settle() -> (starts: [Int], notifications: [Int]) {
    var starts: [Int] = []
    while suspensions == 0, inFlight.count < limit, !waiting.isEmpty {
      let job = waiting.removeFirst()
      inFlight.append(job)
      starts.append(job)
    }
    guard waiting.isEmpty, inFlight.isEmpty else { return (starts, []) }
    defer { notifications = [] }
    return (starts, notifications)
  }
}

@Suite("The state of a bounded Dispatch queue", .timeLimit(.minutes(1)))
struct BoundedDispatchStateTests {
  private typealias State = BoundedDispatchState<Int, Int>

  @Test("agrees with a naive model after every event", arguments: 0..<50 as Range<UInt64>)
  func model(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let limit = Int.random(in: 0...4, using: &random)
    var (state, model) = (State(limit: limit), NaiveDispatch(limit: limit))
    var grants: [Int: State.Grant] = [:]
    for event in 0..<2_000 {
      var effects = State.Effects()
      switch Int.random(in: 0..<12, using: &random) {
      case 0...3:
        effects = state.add(event)
        model.waiting.append(event)
      case 4...7:
        guard let job = model.inFlight.randomElement(using: &random),
          let grant = grants.removeValue(forKey: job)
        else { continue }
        effects = state.end(grant)
        model.inFlight.removeAll { $0 == job }
      case 8:
        model.limit = Int.random(in: 0...4, using: &random)
        effects = state.setLimit(model.limit)
      case 9:
        if model.suspensions > 0, Bool.random(using: &random) {
          model.suspensions -= 1
          effects = state.resume()
        } else if model.suspensions < 3 {
          model.suspensions += 1
          state.suspend()
        }
      case 10:
        effects = state.notify(event)
        model.notifications.append(event)
      default:
        guard Int.random(in: 0..<5, using: &random) == 0 else { continue }
        let (jobs, following) = state.takeWaiting()
        #expect(jobs == model.waiting)
        model.waiting = []
        effects = following
      }
      let (starts, notifications) = model.settle()
      for (job, grant) in effects.starts { grants[job] = grant }
      #expect(effects.starts.map(\.job) == starts, "event \(event)")
      #expect(effects.notifications == notifications, "event \(event)")
      #expect(
        state.status
          == .init(
            limit: model.limit, inFlight: model.inFlight.count, waiting: model.waiting.count,
            isSuspended: model.suspensions > 0), "event \(event)")
    }
  }
}
