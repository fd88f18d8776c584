// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting

@testable import Batchwise

/// A call small enough that thousands of its schedules can be walked through.
struct SmallWorld: Sendable, CustomStringConvertible {
  /// What is read: each takes another way through the engine.
  enum Source: CaseIterable {
    case array, sequence, asyncSequence
  }

  var source: Source
  var count: Int
  var limit: Int
  /// The element whose body throws, if any.
  var failingOffset: Int?

  var description: String {
    "\(count) elements of \(source), limit \(limit), failing at \(failingOffset ?? -1)"
  }

  /// Every world of up to `count` elements, without a failure and with one at every position.
  static func every(
    upTo count: Int, limits: ClosedRange<Int> = 1...7, failing: Bool = true
  ) -> [SmallWorld] {
    var worlds: [SmallWorld] = []
    for source in Source.allCases {
      for count in 0...count {
        for limit in limits {
          let failures: [Int?] = failing ? [nil] + (0..<count).map { $0 } : [nil]
          for failure in failures {
            worlds.append(
              SmallWorld(source: source, count: count, limit: limit, failingOffset: failure))
          }
        }
      }
    }
    return worlds
  }

  /// Suspends a few times, then fails or doubles.
  func body(_ element: Int, _ probe: InFlightProbe) async throws(Boom) -> Int {
    try await probe.body { () async throws(Boom) -> Int in
      for _ in 0..<(element % 3) { await Task.yield() }
      if element == failingOffset { throw Boom(offset: element) }
      return element * 2
    }
  }

  /// What a whole map returns.
  var doubled: [Int] { (0..<count).map { $0 * 2 } }

  /// How a map of this world ends.
  var expected: Result<[Int], Boom> {
    failingOffset.map { .failure(Boom(offset: $0)) } ?? .success(doubled)
  }

  /// Runs the world's map with next to no room, so that everybody has to wait for everybody.
  func tightMap<Failure: Error>(
    _ body: @escaping @Sendable (Int) async throws(Failure) -> Int
  ) async throws(Failure) -> [Int] {
    let limits = FeedLimits(inFlight: limit, backlog: 1...2, blockSize: 1...2)
    let engine = Engine(limits, outlet: .keep, body: body)
    switch source {
    case .array: await engine.run(Array(0..<count))
    case .sequence: await engine.run(LazyNumbers(count: count))
    case .asyncSequence: await engine.run(AsyncNumbers(count: count))
    }
    try engine.checkCompletion()
    return engine.takeOutputs()
  }

  /// Runs the world's map.
  func map<Failure: Error>(
    _ body: @escaping @Sendable (Int) async throws(Failure) -> Int
  ) async throws(Failure) -> [Int] {
    switch source {
    case .array: try await Array(0..<count).concurrentMap(limit: limit, body)
    case .sequence: try await LazyNumbers(count: count).concurrentMap(limit: limit, body)
    case .asyncSequence: try await AsyncNumbers(count: count).concurrentMap(limit: limit, body)
    }
  }

  /// Runs the world's for-each.
  func forEach<Failure: Error>(
    _ body: @escaping @Sendable (Int) async throws(Failure) -> Void
  ) async throws(Failure) {
    switch source {
    case .array: try await Array(0..<count).concurrentForEach(limit: limit, body)
    case .sequence: try await LazyNumbers(count: count).concurrentForEach(limit: limit, body)
    case .asyncSequence: try await AsyncNumbers(count: count).concurrentForEach(limit: limit, body)
    }
  }

  /// Runs the world's compact map.
  func compactMap<Failure: Error>(
    _ body: @escaping @Sendable (Int) async throws(Failure) -> Int?
  ) async throws(Failure) -> [Int] {
    switch source {
    case .array: try await Array(0..<count).concurrentCompactMap(limit: limit, body)
    case .sequence: try await LazyNumbers(count: count).concurrentCompactMap(limit: limit, body)
    case .asyncSequence:
      try await AsyncNumbers(count: count).concurrentCompactMap(limit: limit, body)
    }
  }

  /// Runs the world's search for a first success.
  func first<Failure: Error>(
    _ body: @escaping @Sendable (Int) async throws(Failure) -> Int
  ) async throws(Failure) -> Int? {
    switch source {
    case .array: try await Array(0..<count).concurrentFirst(limit: limit, body)
    case .sequence: try await LazyNumbers(count: count).concurrentFirst(limit: limit, body)
    case .asyncSequence: try await AsyncNumbers(count: count).concurrentFirst(limit: limit, body)
    }
  }

  /// Runs the world's search with next to no room, so that everybody has to wait for everybody.
  func tightFirst<Failure: Error>(
    _ body: @escaping @Sendable (Int) async throws(Failure) -> Int
  ) async throws(Failure) -> Int? {
    let limits = FeedLimits(inFlight: limit, backlog: 1...2, blockSize: 1...2)
    let search = FirstSuccess(limits, transform: body)
    switch source {
    case .array: await search.engine.run(Array(0..<count))
    case .sequence: await search.engine.run(LazyNumbers(count: count))
    case .asyncSequence: await search.engine.run(AsyncNumbers(count: count))
    }
    return try search.outcome()
  }
}
