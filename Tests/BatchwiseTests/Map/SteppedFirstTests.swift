// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("A search for the first success, step by step", .timeLimit(.minutes(2)))
struct SteppedFirstTests {
  /// The body of a world in which exactly these elements succeed.
  private func body(
    _ element: Int, succeeding: Int, _ probe: InFlightProbe
  ) async throws(Boom) -> Int {
    try await probe.body { () async throws(Boom) -> Int in
      for _ in 0..<(element % 3) { await Task.yield() }
      guard succeeding & (1 << element) != 0 else { throw Boom(offset: element) }
      return element
    }
  }

  @Test("returns a success, or the earliest failure, or nil", arguments: 0..<4, [true, false])
  func everySubset(round: Int, isTight: Bool) async throws {
    for (index, world) in SmallWorld.every(upTo: 5, limits: 1...6, failing: false).enumerated() {
      for succeeding in 0..<(1 << world.count) {
        await Task.yield()
        let executor = SteppingExecutor(seed: UInt64((round * 1_000 + index) * 100 + succeeding))
        let probe = InFlightProbe()
        let (result, _) = try executor.run { () async throws(Boom) -> Int? in
          try await isTight
            ? world.tightFirst { element async throws(Boom) in
              try await body(element, succeeding: succeeding, probe)
            }
            : world.first { element async throws(Boom) in
              try await body(element, succeeding: succeeding, probe)
            }
        }
        let note: Comment = "\(world), succeeding \(succeeding), seed \(executor.seed)"
        switch result {
        case .success(let output?): #expect(succeeding & (1 << output) != 0, note)
        case .success(nil): #expect(world.count == 0, note)
        case .failure(let failure):
          #expect(failure == Boom(offset: 0) && succeeding == 0, note)
          #expect(probe.counts.ended == world.count, note)
        }
        #expect(probe.counts.inFlight == 0, note)
        #expect(probe.peak <= world.limit, note)
      }
    }
  }

  @Test("ends well when cancelled at any step", arguments: SmallWorld.Source.allCases)
  func cancelledAtEveryStep(source: SmallWorld.Source) async throws {
    for world in SmallWorld.every(upTo: 3, limits: 1...3, failing: false)
    where world.source == source {
      for succeeding in 0..<(1 << world.count) {
        for seed in 0..<4 as Range<UInt64> {
          await Task.yield()
          var step = 0
          while try runCancelled(world, succeeding, seed: seed, after: step) { step += 1 }
        }
      }
    }
  }

  /// Whether there may be a later step to cancel after.
  private func runCancelled(
    _ world: SmallWorld, _ succeeding: Int, seed: UInt64, after step: Int
  ) throws -> Bool {
    let executor = SteppingExecutor(seed: seed)
    let probe = InFlightProbe()
    let (result, steps) = try executor.run(cancellingAfter: step) { () async throws -> Int? in
      try await seed.isMultiple(of: 2)
        ? world.first { try await body($0, succeeding: succeeding, probe) }
        : world.tightFirst { try await body($0, succeeding: succeeding, probe) }
    }
    let note: Comment = "\(world), succeeding \(succeeding), seed \(seed), step \(step)"
    switch result {
    case .success(let output?): #expect(succeeding & (1 << output) != 0, note)
    case .success(nil): #expect(world.count == 0, note)
    case .failure(let failure as Boom):
      // All have failed of themselves before anybody heard of the cancellation.
      #expect(failure == Boom(offset: 0) && succeeding == 0, note)
      #expect(probe.counts.ended == world.count, note)
    case .failure(let error): #expect(error is CancellationError, note)
    }
    #expect(probe.counts.inFlight == 0, note)
    return steps > step
  }

  @Test("without room for a cancellation searches on, though cancelled at any step")
  func cancelledWithoutRoom() async throws {
    for world in SmallWorld.every(upTo: 3, limits: 1...3, failing: false) {
      for seed in 0..<4 as Range<UInt64> {
        await Task.yield()
        var (step, steps) = (0, 1)
        while step < steps {
          let executor = SteppingExecutor(seed: seed)
          let last = world.count - 1
          let result: Result<Int?, Boom>
          (result, steps) = try executor.run(cancellingAfter: step) {
            () async throws(Boom) -> Int? in
            try await world.tightFirst { element async throws(Boom) in
              await Task.yield()
              if element < last { throw Boom(offset: element) }
              return element
            }
          }
          #expect(
            result == .success(world.count == 0 ? nil : last), "\(world), \(seed), \(step)")
          step += 1
        }
      }
    }
  }

  @Test("while its source is silent ends with a success", arguments: 0..<4 as Range<UInt64>)
  func silentSource(round: UInt64) async throws {
    for seed in round * 500..<(round + 1) * 500 {
      await Task.yield()
      var generator = SeededGenerator(seed: seed)
      let count = Int.random(in: 1...6, using: &generator)
      let succeeding = Int.random(in: 1..<(1 << count), using: &generator)
      let limit = Int.random(in: 1...4, using: &generator)
      let source = AsyncNumbers(
        count: count, isSilentAtEnd: true, burst: Int.random(in: 1...4, using: &generator))
      let probe = InFlightProbe()
      let (result, _) = try SteppingExecutor(seed: seed).run { () async throws(Boom) -> Int? in
        try await source.concurrentFirst(limit: limit) { element async throws(Boom) in
          try await body(element, succeeding: succeeding, probe)
        }
      }
      let output = try #require(try result.get(), "seed \(seed)")
      #expect(succeeding & (1 << output) != 0, "seed \(seed)")
      #expect(probe.counts.inFlight == 0, "seed \(seed)")
    }
  }
}
