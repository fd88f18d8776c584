// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@Suite("Gates, probes and watched values", .timeLimit(.minutes(1)))
struct ProbeTests {
  @Test("A gate holds everybody until it opens, and nobody after that")
  func gate() async throws {
    let gate = Gate()
    let probe = InFlightProbe()
    let passed = Watched(0)
    let tasks = (0..<5).map { index in
      Task {
        try await probe.body {
          if index < 3 { await gate.pass() } else { try await gate.passUnlessCancelled() }
        }
        passed.update { $0 += 1 }
      }
    }
    await probe.waitUntilStarted(5)
    #expect(passed.value == 0)
    gate.open()
    for task in tasks { try await task.value }
    #expect(passed.value == 5)
    await gate.pass()
    try await gate.passUnlessCancelled()
  }

  @Test("A cancelled task leaves a gate with an error, unless it is deaf")
  func cancelledAtGate() async {
    let gate = Gate()
    let probe = InFlightProbe()
    let hearing = Task { try await probe.body { try await gate.passUnlessCancelled() } }
    let deaf = Task { await probe.body { await gate.pass() } }
    await probe.waitUntilStarted(2)
    hearing.cancel()
    deaf.cancel()
    await #expect(throws: CancellationError.self) { try await hearing.value }
    #expect(probe.counts.inFlight == 1)
    gate.open()
    await deaf.value
  }

  @Test("A cancelled task does not pass even an open gate, unless it is deaf")
  func alreadyCancelled() async {
    let gate = Gate()
    gate.open()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      await gate.pass()
      try await gate.passUnlessCancelled()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test("A probe counts starts, ends and the peak, whichever way a body ends")
  func probe() async throws {
    struct Boom: Error {}
    let probe = InFlightProbe()
    await withTaskGroup { group in
      for index in 0..<4 {
        group.addTask {
          try? await probe.body { () async throws(Boom) in
            await probe.waitUntilStarted(4)
            if index == 0 { throw Boom() }
          }
        }
      }
    }
    await probe.waitUntilEnded(4)
    let counts = probe.counts
    #expect((counts.started, counts.ended, counts.peak, counts.inFlight) == (4, 4, 4, 0))
    try await probe.body { () async throws(Boom) in }
    #expect(probe.peak == 4)
  }

  @Test("A wait for a value ends when the value is reached, or with the task")
  func watched() async {
    let watched = Watched(0)
    let reached = Task { await watched.wait { $0 == 2 } }
    let cancelled = Task { await watched.wait { $0 == 99 } }
    watched.update { $0 += 1 }
    cancelled.cancel()
    await cancelled.value
    let result = watched.update { value in
      value += 1
      return value * 10
    }
    #expect(result == 20)
    await reached.value
    #expect(watched.value == 2)
  }

  @Test("A seed's numbers are the ones they have always been")
  func seeds() {
    var generator = SeededGenerator(seed: 1_234_567)
    let numbers = (0..<3).map { _ in generator.next() }
    #expect(
      numbers == [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423])
  }
}
