// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Synchronization
import Testing

@testable import Batchwise

@Suite("A compact map", .timeLimit(.minutes(1)))
struct CompactMapTests {
  @Test("keeps in source order what is not nil", arguments: [1, 2, 8, .max])
  func sourceOrder(limit: Int) async {
    let count = 3_000
    let expected = (0..<count).filter { $0 % 3 != 1 }.map { "\($0)" }
    @Sendable func body(_ element: Int) async -> String? {
      for _ in 0..<(element % 4) { await Task.yield() }
      return element % 3 == 1 ? nil : "\(element)"
    }
    #expect(await Array(0..<count).concurrentCompactMap(limit: limit, body) == expected)
    #expect(await LazyNumbers(count: count).concurrentCompactMap(limit: limit, body) == expected)
    #expect(await AsyncNumbers(count: count).concurrentCompactMap(limit: limit, body) == expected)
  }

  @Test("keeps everything, or nothing")
  func extremes() async {
    let numbers = Array(0..<100_000)
    let all = await numbers.concurrentCompactMap(limit: 8) { Optional($0) }
    #expect(all == numbers)
    #expect(await numbers.concurrentCompactMap(limit: 8) { _ in nil as Int? } == [])
    #expect(await [Int]().concurrentCompactMap(limit: 8) { Optional($0) } == [])
    #expect(await AsyncNumbers(count: 0).concurrentCompactMap(limit: 8) { Optional($0) } == [])
  }

  @Test("of a transformation to optionals of optionals takes one layer off")
  func nestedOptionals() async {
    let outputs = await [0, 1, 2].concurrentCompactMap(limit: 2) { (element) -> Int?? in
      element == 0 ? nil : element == 1 ? .some(nil) : element
    }
    #expect(outputs == [nil, 2])
  }

  @Test("has exactly as many in flight as the limit allows", arguments: [1, 7, .max])
  func peak(limit: Int) async {
    let most = min(limit, 100)
    for source in SmallWorld.Source.allCases {
      let probe = InFlightProbe()
      let gate = Gate()
      let world = SmallWorld(source: source, count: 100, limit: limit)
      async let outputs = world.compactMap { element in
        await probe.body {
          await gate.pass()
          return element.isMultiple(of: 2) ? element : nil
        }
      }
      await probe.waitUntilStarted(most)
      gate.open()
      #expect(await outputs == Array(stride(from: 0, to: 100, by: 2)))
      #expect(probe.peak == most, "\(source)")
    }
  }

  @Test("throws what its source throws, and awaits those in flight")
  func sourceFails() async {
    let probe = InFlightProbe()
    await #expect(throws: Boom(offset: 3)) {
      try await FailingNumbers(count: 3).concurrentCompactMap(limit: 4) { element in
        try await probe.body {
          try await Gate().passUnlessCancelled()
          return element as Int?
        }
      }
    }
    #expect(probe.counts.inFlight == 0)
  }

  @Test("keeps the type of what its transformation throws")
  func typedThrows() async {
    // These lines are the test: they compile without a `try`, or with a typed `catch`.
    let even: [Int] = await [1, 2].concurrentCompactMap(limit: 2) { $0 == 2 ? $0 : nil }
    #expect(even == [2])
    do throws(Boom) {
      let none: [Int] = try await AsyncNumbers(count: 1).concurrentCompactMap(limit: 1) {
        element throws(Boom) in
        throw Boom(offset: element)
      }
      Issue.record("it threw, and did not return \(none)")
    } catch {
      #expect(error == Boom(offset: 0))
    }
  }

  @Test("returns what is not nil, or throws the one failure, step by step", arguments: 0..<8)
  func stepped(round: Int) throws {
    for (index, world) in SmallWorld.every(upTo: 6).enumerated() {
      let executor = SteppingExecutor(seed: UInt64(round * 10_000 + index))
      let probe = InFlightProbe()
      let (result, _) = try executor.run { () async throws(Boom) -> [Int] in
        try await world.compactMap { element async throws(Boom) in
          let output = try await world.body(element, probe)
          return element % 2 == round % 2 ? nil : output
        }
      }
      let expected = world.expected.map { outputs in
        outputs.filter { ($0 / 2) % 2 != round % 2 }
      }
      #expect(result == expected, "\(world), seed \(executor.seed)")
      #expect(probe.counts.inFlight == 0, "\(world), seed \(executor.seed)")
      #expect(probe.peak <= world.limit, "\(world), seed \(executor.seed)")
    }
  }

  @Test("is never short when cancelled at any step", arguments: SmallWorld.Source.allCases)
  func cancelledAtEveryStep(source: SmallWorld.Source) throws {
    for world in SmallWorld.every(upTo: 4, limits: 1...4, failing: false)
    where world.source == source {
      for seed in 0..<3 as Range<UInt64> {
        var (step, steps) = (0, 1)
        while step <= steps {
          let executor = SteppingExecutor(seed: seed)
          let probe = InFlightProbe()
          let result: Result<[Int], any Error>
          (result, steps) = try executor.run(cancellingAfter: step) {
            try await world.compactMap { element in
              let output = try await world.body(element, probe)
              return element == 1 ? nil : output
            }
          }
          switch result {
          case .success(let outputs):
            #expect(outputs == world.doubled.filter { $0 != 2 }, "\(world), \(seed), \(step)")
          case .failure(let error):
            #expect(error is CancellationError, "\(world), \(seed), \(step)")
          }
          #expect(probe.counts.inFlight == 0, "\(world), \(seed), \(step)")
          step += 1
        }
      }
    }
  }
}
