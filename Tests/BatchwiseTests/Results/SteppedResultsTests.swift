// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Synchronization
import Testing

@testable import Batchwise

@Suite("Streamed results, step by step", .timeLimit(.minutes(2)))
struct SteppedResultsTests {
  /// A stream small enough that thousands of its schedules can be walked through.
  private struct World: CustomStringConvertible {
    var count: Int
    var limit: Int
    var readAhead: Int
    var isOrdered: Bool
    var sourceFails: Bool
    var isAsync: Bool

    var description: String {
      "\(count) elements, limit \(limit), readAhead \(readAhead), "
        + "\(isOrdered ? "source" : "completion") order, "
        + "\(sourceFails ? "failing" : isAsync ? "asynchronous" : "synchronous") source"
    }

    static func random(using generator: inout SeededGenerator) -> World {
      World(
        count: .random(in: 0...6, using: &generator), limit: .random(in: 1...4, using: &generator),
        readAhead: .random(in: 0...3, using: &generator),
        isOrdered: .random(using: &generator), sourceFails: .random(using: &generator),
        isAsync: .random(using: &generator))
    }
  }

  private final class Log: Sendable {
    let outcomes = Mutex<[ConcurrentResult<Int, Boom>]>([])
    /// Elements started and not yet read, and the most there ever were.
    let held = Mutex<(now: Int, most: Int)>((0, 0))

    func start() {
      held.withLock { held in
        held.now += 1
        held.most = max(held.most, held.now)
      }
    }

    func read(_ outcome: ConcurrentResult<Int, Boom>) {
      held.withLock { $0.now -= 1 }
      outcomes.withLock { $0.append(outcome) }
    }
  }

  /// Reads the world's stream to its end, and logs it.
  private func read(
    _ world: World, on executor: SteppingExecutor, _ probe: InFlightProbe, _ log: Log
  ) async throws(Boom) {
    let order: ConcurrentResultsOrder = world.isOrdered ? .source : .completion
    @Sendable func body(_ element: Int) async throws(Boom) -> Int {
      log.start()
      return try await probe.body { () async throws(Boom) -> Int in
        for _ in 0..<(element % 3) { await Task.yield() }
        if element % 4 == 3 { throw Boom(offset: element) }
        return element * 2
      }
    }
    if world.sourceFails {
      let results = FailingNumbers(count: world.count).concurrentResults(
        limit: world.limit, order: order, readAhead: world.readAhead, executor: executor, body)
      for try await outcome in results { log.read(outcome) }
    } else if world.isAsync {
      let results = AsyncNumbers(count: world.count).concurrentResults(
        limit: world.limit, order: order, readAhead: world.readAhead, executor: executor, body)
      for await outcome in results {
        log.read(outcome)
        await Task.yield()
      }
    } else {
      let results = LazyNumbers(count: world.count).concurrentResults(
        limit: world.limit, order: order, readAhead: world.readAhead, executor: executor, body)
      for await outcome in results { log.read(outcome) }
    }
  }

  private func expectedOutcomes(_ world: World) -> [ConcurrentResult<Int, Boom>] {
    (0..<world.count).map { offset in
      ConcurrentResult(
        offset: offset,
        result: offset % 4 == 3 ? .failure(Boom(offset: offset)) : .success(offset * 2))
    }
  }

  @Test(
    "have one outcome for every element, within their bounds", arguments: 0..<8 as Range<UInt64>)
  func oneForEach(round: UInt64) async throws {
    for seed in round * 500..<(round + 1) * 500 {
      await Task.yield()
      var generator = SeededGenerator(seed: seed)
      let world = World.random(using: &generator)
      let executor = SteppingExecutor(seed: seed)
      let probe = InFlightProbe()
      let log = Log()
      let (result, _) = try executor.run { () async throws(Boom) in
        try await read(world, on: executor, probe, log)
      }
      switch result {
      case .success: #expect(!world.sourceFails, "seed \(seed): \(world)")
      case .failure(let failure):
        #expect(world.sourceFails && failure == Boom(offset: world.count), "seed \(seed): \(world)")
      }
      var outcomes = log.outcomes.withLock { $0 }
      if !world.isOrdered { outcomes.sort { $0.offset < $1.offset } }
      #expect(outcomes == expectedOutcomes(world), "seed \(seed): \(world)")
      #expect(probe.peak <= world.limit, "seed \(seed): \(world)")
      #expect(probe.counts.inFlight == 0, "seed \(seed): \(world)")
      let most = log.held.withLock { $0.most }
      #expect(most <= world.limit + world.readAhead, "seed \(seed): \(world)")
    }
  }

  @Test("end when their reader is cancelled at any step, with nothing left at work")
  func cancelledAtEveryStep() async throws {
    for seed in 0..<300 as Range<UInt64> {
      await Task.yield()
      var generator = SeededGenerator(seed: seed)
      let world = World.random(using: &generator)
      var step = 0
      var steps = 1
      while step < steps {
        let executor = SteppingExecutor(seed: seed)
        let probe = InFlightProbe()
        let log = Log()
        let inFlightAtEnd = Mutex<Int?>(nil)
        let result: Result<Void, Boom>
        (result, steps) = try executor.run(cancellingAfter: step) { () async throws(Boom) in
          defer { inFlightAtEnd.withLock { $0 = probe.counts.inFlight } }
          try await read(world, on: executor, probe, log)
        }
        #expect(inFlightAtEnd.withLock { $0 } == 0, "seed \(seed), step \(step): \(world)")
        let outcomes = log.outcomes.withLock { $0 }
        // Nobody gets what was not there; and whoever is told of the end got all before it.
        #expect(Set(outcomes.map(\.offset)).count == outcomes.count)
        if world.isOrdered { #expect(outcomes.map(\.offset) == Array(0..<outcomes.count)) }
        if case .failure = result { #expect(outcomes.count == world.count) }
        step += 1
      }
    }
  }

  @Test("whose iterator is dropped early stop working, whenever that is")
  func droppedAtEveryOutcome() async throws {
    for seed in 0..<300 as Range<UInt64> {
      await Task.yield()
      for taken in 0...3 {
        let executor = SteppingExecutor(seed: seed)
        let probe = InFlightProbe()
        _ = try executor.run {
          let results = LazyNumbers(count: .max).concurrentResults(
            limit: 3, order: seed.isMultiple(of: 2) ? .source : .completion, executor: executor
          ) { element in
            await probe.body {
              await Task.yield()
              return element
            }
          }
          var left = taken
          for await _ in results {
            left -= 1
            if left <= 0 { break }
          }
        }
        // The run went on until nothing was left to step, though its source has no end.
        #expect(probe.counts.inFlight == 0, "seed \(seed)")
        #expect(probe.counts.started <= max(taken, 1) + 6, "seed \(seed)")
      }
    }
  }
}
