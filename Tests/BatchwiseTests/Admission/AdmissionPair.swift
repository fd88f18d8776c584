// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

/// The rule and its naive model, told the same events and compared after each.
struct AdmissionPair {
  /// What can happen.
  enum Event: Hashable {
    case enter(weight: Int, key: Int?)
    case enterBarrier
    case wait(priority: Int, weight: Int, key: Int?)
    case barrier(key: Int?)
    /// Those that were in flight and ended come back with their old arrival.
    case comeBack(Int)
    case cancel(Int)
    case leave(Int)
    case setPriority(Int, of: Int)
    case setLimit(Int)
    case setKeyLimit(Int)
    case setLimitOfKey(Int?, key: Int)
    case pause
    case resume
    case pass(Duration)
  }

  typealias State = AdmissionState<Int>

  private(set) var state: State
  private(set) var model: NaiveAdmission
  private var ids: [Int: State.ID] = [:]
  private var grants: [Int: State.Grant] = [:]
  private var arrivals: [Int: AdmissionArrival] = [:]
  /// Those that ended and could come back.
  private var ended: [(item: NaiveAdmission.Item, arrival: AdmissionArrival)] = []
  private var keys: [Int: AdmissionKey] = [:]
  private var lastID = 0
  private var events = 0
  private var now: Duration = .zero

  init(limit: Int, keyLimit: Int = .max, ageing: Duration? = nil) {
    state = State(limit: limit, keyLimit: keyLimit, ageing: ageing)
    model = NaiveAdmission(limit: limit, keyLimit: keyLimit, ageing: ageing)
  }

  /// Tells both of an event and lets all start who may; nil, or what they disagree about.
  mutating func take(_ event: Event) -> String? {
    if let difference = tell(event) { return difference }
    while true {
      let (admitted, expected) = (state.admit(at: now), model.admit())
      guard admitted?.waiter == expected?.id else {
        return "admitted \(admitted?.waiter ?? 0) and not \(expected?.id ?? 0)"
      }
      guard let admitted else { break }
      ids[admitted.waiter] = nil
      grants[admitted.waiter] = admitted.grant
      arrivals[admitted.waiter] = admitted.arrival
      if let difference = compareLimits(of: expected?.key) { return difference }
    }
    events += 1
    return compare() ?? (events.isMultiple(of: 8) ? compareEach() : nil)
  }

  private mutating func tell(_ event: Event) -> String? {
    switch event {
    case .enter(let weight, let key):
      return enter(NaiveAdmission.Item(id: newID(), weight: weight, key: key))
    case .enterBarrier:
      return enter(NaiveAdmission.Item(id: newID(), isBarrier: true))
    case .wait(let priority, let weight, let key):
      wait(NaiveAdmission.Item(id: newID(), priority: priority, weight: weight, key: key))
    case .barrier(let key):
      wait(NaiveAdmission.Item(id: newID(), key: key, isBarrier: true))
    case .comeBack(let index):
      guard ended.indices.contains(index) else { break }
      let (item, arrival) = ended.remove(at: index)
      wait(item, arrival: arrival)
    case .cancel(let index):
      guard model.waiting.indices.contains(index) else { break }
      let item = model.waiting.remove(at: index)
      guard let id = ids.removeValue(forKey: item.id), state.cancel(id) == item.id,
        state.cancel(id) == nil
      else { return "not cancelled: \(item.id)" }
    case .leave(let index):
      guard model.inFlight.indices.contains(index) else { break }
      let (item, _) = model.inFlight.remove(at: index)
      guard let grant = grants.removeValue(forKey: item.id) else { return "no grant" }
      state.leave(grant)
      if let arrival = arrivals.removeValue(forKey: item.id) { ended.append((item, arrival)) }
      if ended.count > 4 { ended.removeFirst() }
    case .setPriority(let priority, let index):
      guard model.waiting.indices.contains(index) else { break }
      model.waiting[index].priority = priority
      if let id = ids[model.waiting[index].id] { state.setPriority(priority, of: id) }
    case .setLimit(let limit):
      model.limit = limit
      state.setLimit(limit)
    case .setKeyLimit(let limit):
      model.keyLimit = limit
      state.setKeyLimit(limit)
    case .setLimitOfKey(let limit, let key):
      model.ownKeyLimits[key] = limit
      state.setLimit(limit, forKey: admissionKey(key))
    case .pause:
      model.isPaused = true
      state.pause()
    case .resume:
      model.isPaused = false
      state.resume()
    case .pass(let duration):
      now += duration
    }
    return nil
  }

  private mutating func enter(_ item: NaiveAdmission.Item) -> String? {
    let grant = state.enter(request(of: item), at: now)
    guard model.enter(item) == (grant != nil) else { return "entered: \(grant != nil)" }
    grants[item.id] = grant
    return grant == nil ? nil : compareLimits(of: item.key)
  }

  private mutating func wait(_ item: NaiveAdmission.Item, arrival: AdmissionArrival? = nil) {
    let item = model.arrive(item, at: now, isBack: arrival != nil)
    model.waiting.append(item)
    ids[item.id] = state.wait(item.id, for: request(of: item), arrival: arrival, at: now)
  }

  private mutating func newID() -> Int {
    lastID += 1
    return lastID
  }

  private mutating func request(of item: NaiveAdmission.Item) -> AdmissionRequest {
    AdmissionRequest(
      priority: item.priority, weight: item.weight, key: item.key.map { admissionKey($0) },
      isBarrier: item.isBarrier)
  }

  private mutating func admissionKey(_ key: Int) -> AdmissionKey {
    // A new box now and then, since boxes of the same key must be equal.
    if let known = keys[key], !lastID.isMultiple(of: 3) { return known }
    let box = AdmissionKey(key)
    keys[key] = box
    return box
  }

  // MARK: What must be true

  /// Whoever starts finds room: nobody starts above a limit, even while more are in flight.
  private func compareLimits(of key: Int?) -> String? {
    if state.inFlight > state.limit { return "started above the limit" }
    guard let key else { return nil }
    return model.permits(of: key) > model.limit(of: key) ? "started above a key's limit" : nil
  }

  private mutating func compare() -> String? {
    guard state.inFlight == model.permits else { return "permits: \(state.inFlight)" }
    guard state.waiting == model.waiting.count else { return "waiting: \(state.waiting)" }
    guard state.limit == model.limit, state.isPaused == model.isPaused else { return "settings" }
    guard state.keys == model.keys.count else { return "keys: \(state.keys)" }
    return nil
  }

  /// What is dearer to compare.
  private mutating func compareEach() -> String? {
    for key in 0..<3 {
      let counts = state.counts(ofKey: admissionKey(key))
      guard counts.inFlight == model.permits(of: key),
        counts.waiting == model.waiting.count(where: { $0.key == key })
      else { return "counts of \(key): \(counts)" }
    }
    for item in model.waiting {
      guard let id = ids[item.id] else { return "no identifier" }
      let hindrance = state.hindrance(of: id)
      guard hindrance == model.hindrance(of: item) else {
        return "\(item.id) is held by \(String(describing: hindrance))"
      }
    }
    for (item, _) in model.inFlight {
      guard let grant = grants[item.id],
        [nil, 0, 1, 2].allSatisfy({ key in
          state.isGrant(grant, of: key.map { admissionKey($0) }) == (key == item.key)
        })
      else { return "a grant belongs to another key" }
    }
    return nil
  }

  /// Opens everything and lets all end one after the other; nil, or why it does not come to rest.
  mutating func drain() -> String? {
    if let difference = compareEach() { return difference }
    for event: Event in [.resume, .setLimit(2), .setKeyLimit(1)]
      + (0..<3).map({
        .setLimitOfKey(nil, key: $0)
      })
    {
      if let difference = take(event) { return difference }
    }
    while !model.inFlight.isEmpty {
      if let difference = take(.leave(0)) { return difference }
    }
    guard state.waiting == 0 else { return "\(state.waiting) starve" }
    guard state.keys == 0, state.inFlight == 0 else { return "something is left" }
    return take(.enter(weight: 1, key: nil)) ?? (state.inFlight == 1 ? nil : "no room at rest")
  }

  // MARK: Random events

  /// What happens next, in a world of three keys.
  func randomEvent(using random: inout SeededGenerator) -> Event {
    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    func key() -> Int? { [nil, nil, 0, 1, 2][number(0...4)] }
    func weight() -> Int { [1, 1, 1, 2, 3, 9][number(0...5)] }
    let crowd = model.waiting.count
    switch number(0...27) {
    case 0...5 where crowd < 10:
      return .wait(priority: number(0...2), weight: weight(), key: key())
    case 6...9: return .enter(weight: weight(), key: key())
    case 10 where crowd < 8: return number(0...1) == 0 ? .enterBarrier : .barrier(key: key())
    case 11 where crowd < 10: return .comeBack(number(0...3))
    case 12...14: return .cancel(number(0...max(0, crowd - 1)))
    case 15...21: return .leave(number(0...max(0, model.inFlight.count - 1)))
    case 22: return .setPriority(number(0...2), of: number(0...max(0, crowd - 1)))
    case 23: return .setLimit(number(0...5))
    case 24: return .setKeyLimit(number(0...3))
    case 25: return .setLimitOfKey([nil, 0, 1, 4][number(0...3)], key: number(0...2))
    case 26: return number(0...3) == 0 ? .pause : .resume
    default: return .pass(.seconds(number(0...3)))
    }
  }
}
