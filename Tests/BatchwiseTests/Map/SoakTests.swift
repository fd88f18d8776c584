// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseTesting
import Synchronization
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// All verbs at once on real threads, with a random mix of sources, limits, failures, cancellations
/// and readers that leave, which ends quiet.
///
/// The seed is printed. It decides what is run, not how the threads meet, so a run with the same
/// seed (`BATCHWISE_SOAK_SEED`) is likely to fail again, but need not. `BATCHWISE_SOAK_ROUNDS` makes
/// it longer.
@Suite("A soak over all verbs", .timeLimit(.minutes(5)))
struct SoakTests {
  @Test("ends quiet, with nothing lost, repeated, left at work or left in memory")
  func soak() async {
    let seed = setting("BATCHWISE_SOAK_SEED") ?? UInt64.random(in: 0..<1_000_000_000)
    let rounds = setting("BATCHWISE_SOAK_ROUNDS") ?? 3_000
    print("soak: BATCHWISE_SOAK_SEED=\(seed) BATCHWISE_SOAK_ROUNDS=\(rounds)")
    let quiet = Quiet()
    await withDiscardingTaskGroup { group in
      for lane in 0..<4 as Range<UInt64> {
        group.addTask {
          for round in stride(from: lane, to: rounds, by: 4) {
            await Round(seed: seed &+ round &* 0x9e37_79b9, quiet: quiet).run()
          }
        }
      }
    }
    // Runs whose reader has left end soon, but not at once.
    while quiet.inFlight != 0 || quiet.alive != 0 { await Task.yield() }
    #expect(quiet.started > 0)
  }

  private func setting(_ name: String) -> UInt64? {
    getenv(name).flatMap { UInt64(String(cString: $0)) }
  }
}

/// What there must be none of in the end.
private final class Quiet: Sendable {
  private let startedBodies = Atomic<Int>(0)
  private let endedBodies = Atomic<Int>(0)
  private let things = Atomic<Int>(0)

  var started: Int { startedBodies.load(ordering: .relaxed) }
  var inFlight: Int { started - endedBodies.load(ordering: .relaxed) }
  var alive: Int { things.load(ordering: .relaxed) }

  func start() { startedBodies.add(1, ordering: .relaxed) }
  func end() { endedBodies.add(1, ordering: .relaxed) }
  func add(_ number: Int) { things.add(number, ordering: .relaxed) }
}

/// An output or a failure that is counted while it lives.
private final class Thing: Error {
  let offset: Int
  private let quiet: Quiet

  init(_ offset: Int, _ quiet: Quiet) {
    self.offset = offset
    self.quiet = quiet
    quiet.add(1)
  }

  deinit { quiet.add(-1) }
}

/// One call of one verb.
private struct Round: Sendable, CustomStringConvertible {
  enum Verb: CaseIterable { case map, compactMap, forEach, first, results }
  enum Source: CaseIterable { case array, lazy, async, failing, silent }

  let seed: UInt64
  let quiet: Quiet
  let verb: Verb
  let source: Source
  let count: Int
  let limit: Int
  let readAhead: Int
  let isOrdered: Bool
  /// Of a hundred elements, how many fail.
  let failures: Int
  /// How many turns the caller has before it is cancelled.
  let turnsUntilCancelled: Int?
  /// How many outcomes are read before the reader leaves.
  let leavesAt: Int?

  init(seed: UInt64, quiet: Quiet) {
    var generator = SeededGenerator(seed: seed)
    self.seed = seed
    self.quiet = quiet
    verb = Verb.allCases.randomElement(using: &generator) ?? .map
    source = Source.allCases.randomElement(using: &generator) ?? .array
    count = [0, 1, 5, 60, 300].randomElement(using: &generator) ?? 0
    limit = [1, 2, 3, 8, 100, .max].randomElement(using: &generator) ?? 1
    readAhead = [0, 1, 5, 500].randomElement(using: &generator) ?? 0
    isOrdered = .random(using: &generator)
    failures = [0, 0, 1, 50, 100].randomElement(using: &generator) ?? 0
    // A silent source ends only with a cancellation, or with a failure.
    let isCancelled = source == .silent || Bool.random(using: &generator)
    turnsUntilCancelled = isCancelled ? Int.random(in: 0...count + 3, using: &generator) : nil
    leavesAt = Int.random(in: 0..<4, using: &generator) == 0 ? count / 2 : nil
  }

  var description: String {
    "seed \(seed): \(verb) of \(count) from \(source), limit \(limit), readAhead \(readAhead), "
      + "ordered \(isOrdered), \(failures) % fail, cancelled after \(turnsUntilCancelled ?? -1), "
      + "left at \(leavesAt ?? -1)"
  }

  func fails(_ element: Int) -> Bool {
    var generator = SeededGenerator(seed: seed &+ UInt64(element))
    return Int.random(in: 0..<100, using: &generator) < failures
  }

  func run() async {
    let probe = InFlightProbe()
    let task = Task { try await call(probe) }
    if let turnsUntilCancelled {
      for _ in 0..<turnsUntilCancelled { await Task.yield() }
      task.cancel()
    }
    let result = await task.result
    if case .failure(let error) = result {
      let isExpected =
        error is Thing || error is Boom
        || (error is CancellationError && turnsUntilCancelled != nil)
      #expect(isExpected, "\(self): \(error)")
    }
    if verb != .results || leavesAt == nil {
      #expect(probe.counts.inFlight == 0, "\(self)")
    }
    #expect(probe.peak <= limit, "\(self)")
  }

  private func body(_ element: Int, _ probe: InFlightProbe) async throws -> Thing {
    try await probe.body {
      quiet.start()
      defer { quiet.end() }
      for _ in 0..<element % 4 { await Task.yield() }
      if element % 5 == 4 { try Task.checkCancellation() }
      if fails(element) { throw Thing(element, quiet) }
      return Thing(element, quiet)
    }
  }

  private func call(_ probe: InFlightProbe) async throws {
    @Sendable func body(_ element: Int) async throws -> Thing {
      try await self.body(element, probe)
    }
    switch source {
    case .array: try await call(Array(0..<count), body)
    case .lazy: try await call(LazyNumbers(count: count), body)
    case .async: try await call(AsyncNumbers(count: count, burst: 1 + count % 7), body)
    case .silent: try await call(AsyncNumbers(count: count, isSilentAtEnd: true), body)
    case .failing: try await call(FailingNumbers(count: count), body)
    }
  }

  private func call<Numbers: Sequence<Int> & Sendable>(
    _ numbers: Numbers, _ body: @escaping @Sendable (Int) async throws -> Thing
  ) async throws {
    switch verb {
    case .map: check(try await numbers.concurrentMap(limit: limit, body), every: 1)
    case .compactMap:
      let outputs = try await numbers.concurrentCompactMap(limit: limit) { element in
        let output = try await body(element)
        return element.isMultiple(of: 3) ? output : nil
      }
      check(outputs, every: 3)
    case .forEach: try await numbers.concurrentForEach(limit: limit) { _ = try await body($0) }
    case .first: check(try await numbers.concurrentFirst(limit: limit, body))
    case .results:
      let order: ConcurrentResultsOrder = isOrdered ? .source : .completion
      try await read(
        numbers.concurrentResults(limit: limit, order: order, readAhead: readAhead, body))
    }
  }

  private func call<Numbers: AsyncSequence & Sendable>(
    _ numbers: Numbers, _ body: @escaping @Sendable (Int) async throws -> Thing
  ) async throws where Numbers.Element == Int {
    switch verb {
    case .map: check(try await numbers.concurrentMap(limit: limit, body), every: 1)
    case .compactMap:
      let outputs = try await numbers.concurrentCompactMap(limit: limit) { element in
        let output = try await body(element)
        return element.isMultiple(of: 3) ? output : nil
      }
      check(outputs, every: 3)
    case .forEach: try await numbers.concurrentForEach(limit: limit) { _ = try await body($0) }
    case .first: check(try await numbers.concurrentFirst(limit: limit, body))
    case .results:
      let order: ConcurrentResultsOrder = isOrdered ? .source : .completion
      try await read(
        numbers.concurrentResults(limit: limit, order: order, readAhead: readAhead, body))
    }
  }

  private func read<Results: AsyncSequence>(_ results: Results) async throws
  where Results.Element == ConcurrentResult<Thing, any Error> {
    var offsets: [Int] = []
    for try await outcome in results {
      offsets.append(outcome.offset)
      if case .success(let thing) = outcome.result { #expect(thing.offset == outcome.offset) }
      if offsets.count == leavesAt { return }
      if offsets.count.isMultiple(of: 10) { await Task.yield() }
    }
    if isOrdered { #expect(offsets == Array(0..<offsets.count), "\(self)") }
    #expect(Set(offsets).count == offsets.count, "\(self)")
    // An end that was not caused by a cancellation is the end of the source.
    if turnsUntilCancelled == nil { #expect(offsets.count == count, "\(self)") }
  }

  private func check(_ outputs: [Thing], every step: Int) {
    let isWhole = outputs.map(\.offset) == Array(stride(from: 0, to: count, by: step))
    #expect(isWhole, "\(self)")
  }

  private func check(_ output: Thing?) {
    #expect((output == nil) == (count == 0), "\(self)")
    if let output { #expect(!fails(output.offset), "\(self)") }
  }
}
