// SPDX-License-Identifier: Apache-2.0

@testable import Batchwise

/// The rule of who may start next as its documentation tells it: two plain arrays, scanned each time.
struct NaiveAdmission {
  struct Item {
    let id: Int
    var priority = 0
    var weight = 1
    var key: Int?
    var isBarrier = false
    /// Counts those who first came.
    var arrival = 0
    var arrivalTime: Duration = .zero
    /// Counts all who came, those that came back again; what barriers go by.
    var coming = 0
  }

  var limit: Int
  var keyLimit: Int
  var ownKeyLimits: [Int: Int] = [:]
  var ageing: Duration?
  var isPaused = false
  var waiting: [Item] = []
  /// With the permits that each holds.
  var inFlight: [(item: Item, weight: Int)] = []
  private var comings = 0
  private var arrivals = 0

  init(limit: Int, keyLimit: Int, ageing: Duration? = nil) {
    self.limit = limit
    self.keyLimit = keyLimit
    self.ageing = ageing
  }

  // MARK: Counting

  var permits: Int { inFlight.reduce(0) { $0 + $1.weight } }

  func permits(of key: Int) -> Int {
    inFlight.filter { $0.item.key == key }.reduce(0) { $0 + $1.weight }
  }

  func limit(of key: Int) -> Int { ownKeyLimits[key] ?? keyLimit }

  var keys: Set<Int> { Set((waiting + inFlight.map(\.item)).compactMap(\.key)) }

  /// How many permits an item takes: more than a limit counts as the whole limit.
  func weight(of item: Item) -> Int {
    max(1, min(item.weight, limit, item.key.map { limit(of: $0) } ?? .max))
  }

  // MARK: Order

  private func level(of item: Item) -> Int {
    guard let ageing else { return -item.priority }
    let nanosecond = Duration.nanoseconds(1)
    return Int(item.arrivalTime / nanosecond) - item.priority * Int(ageing / nanosecond)
  }

  /// Whether one stands before the other; barriers keep apart those who came before and after.
  func isBefore(_ one: Item, _ other: Item) -> Bool {
    let (first, second) = one.coming < other.coming ? (one, other) : (other, one)
    let isApart = waiting.contains {
      $0.isBarrier && $0.coming >= first.coming && $0.coming <= second.coming
    }
    if isApart { return one.coming < other.coming }
    return (level(of: one), one.arrival) < (level(of: other), other.arrival)
  }

  /// Whether the first of those with the same key has no room under the limit of the key.
  func isKeyFull(_ item: Item) -> Bool {
    guard let key = item.key else { return false }
    let sameKey = waiting.filter { $0.key == key }
    guard let first = sameKey.min(by: isBefore) else { return false }
    return permits(of: key) + weight(of: first) > limit(of: key)
  }

  /// Whether a barrier keeps an item from starting, or whether it is one that must wait for others.
  func isHeldByBarrier(_ item: Item) -> Bool {
    if inFlight.contains(where: \.item.isBarrier) { return true }
    if item.isBarrier {
      return !inFlight.isEmpty || waiting.contains { $0.coming < item.coming }
    }
    return waiting.contains { $0.isBarrier && $0.coming < item.coming }
  }

  // MARK: Events

  mutating func arrive(_ item: Item, at now: Duration, isBack: Bool = false) -> Item {
    var item = item
    comings += 1
    item.coming = comings
    if !isBack {
      arrivals += 1
      item.arrival = arrivals
      item.arrivalTime = now
    }
    return item
  }

  /// Whether an item that just came started at once, overtaking nobody.
  mutating func enter(_ item: Item) -> Bool {
    var item = item
    comings += 1
    item.coming = comings
    let isSomebodyFirst = waiting.contains { !isKeyFull($0) || $0.key == item.key }
    let isRoom =
      permits + weight(of: item) <= limit
      && item.key.map { permits(of: $0) + weight(of: item) <= limit(of: $0) } ?? true
    guard !isPaused, !isSomebodyFirst, !isHeldByBarrier(item), isRoom else {
      return false
    }
    inFlight.append((item, weight(of: item)))
    return true
  }

  mutating func admit() -> Item? {
    guard !isPaused, let first = waiting.filter({ !isKeyFull($0) }).min(by: isBefore),
      !isHeldByBarrier(first), permits + weight(of: first) <= limit
    else { return nil }
    inFlight.append((first, weight(of: first)))
    waiting.removeAll { $0.id == first.id }
    return first
  }

  func hindrance(of item: Item) -> AdmissionHindrance {
    if isPaused { return .paused }
    if isHeldByBarrier(item) { return .barrier }
    return isKeyFull(item) ? .key : .limit
  }
}
