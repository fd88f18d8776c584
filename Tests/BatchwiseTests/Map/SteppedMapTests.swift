// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Synchronization
import Testing

@testable import Batchwise

@Suite("A map, step by step", .timeLimit(.minutes(2)))
struct SteppedMapTests {
  @Test("returns every result in source order, or throws the one failure", arguments: 0..<8)
  func resultsOrFailure(round: Int) async throws {
    for (index, world) in SmallWorld.every(upTo: 6).enumerated() {
      await Task.yield()
      let executor = SteppingExecutor(seed: UInt64(round * 10_000 + index))
      let probe = InFlightProbe()
      let (result, _) = try executor.run { () async throws(Boom) -> [Int] in
        try await world.map { element async throws(Boom) in try await world.body(element, probe) }
      }
      #expect(result == world.expected, "\(world), seed \(executor.seed)")
      #expect(probe.counts.inFlight == 0, "\(world), seed \(executor.seed)")
      #expect(probe.peak <= world.limit, "\(world), seed \(executor.seed)")
    }
  }

  @Test("does the same with next to no room between source and workers", arguments: 0..<8)
  func tightRoom(round: Int) async throws {
    for (index, world) in SmallWorld.every(upTo: 6).enumerated() where world.source != .array {
      await Task.yield()
      let executor = SteppingExecutor(seed: UInt64(round * 10_000 + index))
      let probe = InFlightProbe()
      let (result, _) = try executor.run { () async throws(Boom) -> [Int] in
        try await world.tightMap { element async throws(Boom) in
          try await world.body(element, probe)
        }
      }
      #expect(result == world.expected, "\(world), seed \(executor.seed)")
      #expect(probe.counts.inFlight == 0, "\(world), seed \(executor.seed)")
      #expect(probe.peak <= world.limit, "\(world), seed \(executor.seed)")
    }
  }

  @Test("has in flight what can be while its source is silent", arguments: 0..<8 as Range<UInt64>)
  func silentSource(round: UInt64) async throws {
    for seed in round * 500..<(round + 1) * 500 {
      await Task.yield()
      var generator = SeededGenerator(seed: seed)
      let count = Int.random(in: 0...9, using: &generator)
      let limit = Int.random(in: 1...5, using: &generator)
      // Bodies from here on end only when cancelled.
      let firstEndless = Int.random(in: 0...count, using: &generator)
      let limits = FeedLimits(
        inFlight: limit, backlog: 1...Int.random(in: 1...4, using: &generator),
        blockSize: 1...Int.random(in: 1...3, using: &generator))
      let source = AsyncNumbers(
        count: count, isSilentAtEnd: true, burst: Int.random(in: 1...4, using: &generator))
      let probe = InFlightProbe()
      let executor = SteppingExecutor(seed: seed)
      var inFlight: Int?
      let (result, _) = try executor.run(cancelling: { inFlight = probe.counts.inFlight }) {
        let engine = Engine<Int, Void, any Error>(limits, outlet: .discard) { element in
          try await probe.body {
            for _ in 0..<(element % 3) { await Task.yield() }
            if element >= firstEndless { try await Gate().passUnlessCancelled() }
          }
        }
        await engine.run(source)
        try engine.checkCompletion()
      }
      #expect(inFlight == min(limit, count - firstEndless), "seed \(seed)")
      #expect(throws: CancellationError.self, "seed \(seed)") { try result.get() }
      #expect(probe.counts.inFlight == 0, "seed \(seed)")
    }
  }

  @Test("that fails reads next to nothing further of a source that is deaf to cancellation")
  func deafSource() async throws {
    let limits = FeedLimits(inFlight: 1, backlog: 64...64)
    for seed in 0..<200 as Range<UInt64> {
      await Task.yield()
      let given = Mutex(0)
      let source = AsyncNumbers(count: 64) { number in given.withLock { $0 = number } }
      let (result, _) = try SteppingExecutor(seed: seed).run { () async throws(Boom) in
        let engine = Engine<Int, Void, Boom>(limits, outlet: .discard) { element throws(Boom) in
          throw Boom(offset: element)
        }
        await engine.run(source)
        try engine.checkCompletion()
      }
      #expect(throws: Boom(offset: 0), "seed \(seed)") { try result.get() }
      #expect(given.withLock { $0 } < 32, "seed \(seed)")
    }
  }

  @Test("is never short when cancelled at any step", arguments: SmallWorld.Source.allCases)
  func cancelledAtEveryStep(source: SmallWorld.Source) async throws {
    for world in SmallWorld.every(upTo: 4, limits: 1...4, failing: false)
    where world.source == source {
      for seed in 0..<4 as Range<UInt64> {
        await Task.yield()
        var step = 0
        while try runCancelled(world, seed: seed, after: step) { step += 1 }
      }
    }
  }

  /// Whether there may be a later step to cancel after.
  private func runCancelled(_ world: SmallWorld, seed: UInt64, after step: Int) throws -> Bool {
    let executor = SteppingExecutor(seed: seed)
    let probe = InFlightProbe()
    let (result, steps) = try executor.run(cancellingAfter: step) {
      if seed.isMultiple(of: 2) {
        try await world.map { element in try await world.body(element, probe) }
      } else {
        try await world.tightMap { element in try await world.body(element, probe) }
      }
    }
    switch result {
    case .success(let outputs): #expect(outputs == world.doubled, "\(world), \(seed), \(step)")
    case .failure(let error): #expect(error is CancellationError, "\(world), \(seed), \(step)")
    }
    #expect(probe.counts.inFlight == 0, "\(world), \(seed), \(step)")
    return steps > step
  }

  @Test("whose body cannot throw runs every element though cancelled at any step")
  func cancelledWithoutRoom() async throws {
    for world in SmallWorld.every(upTo: 3, limits: 1...3, failing: false) {
      for seed in 0..<4 as Range<UInt64> {
        await Task.yield()
        var step = 0
        var steps = 1
        while step < steps {
          let executor = SteppingExecutor(seed: seed)
          let result: Result<[Int], Never>
          (result, steps) = try executor.run(cancellingAfter: step) {
            await world.tightMap { element in
              await Task.yield()
              return element * 2
            }
          }
          #expect(result == .success(world.doubled), "\(world), seed \(seed), step \(step)")
          step += 1
        }
      }
    }
  }
}
