// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseTesting
import Synchronization
import Testing

@Suite("A failure", .timeLimit(.minutes(1)))
struct FailureTests {
  @Test(
    "of the first, a middle or the last element is always thrown",
    arguments: SmallWorld.Source.allCases, [1, 2, 3, 4, 5, 6, 7])
  func anyPosition(source: SmallWorld.Source, limit: Int) async {
    for failing in 0..<5 {
      let world = SmallWorld(source: source, count: 5, limit: limit, failingOffset: failing)
      let probe = InFlightProbe()
      await #expect(throws: Boom(offset: failing)) {
        try await world.forEach { element in _ = try await world.body(element, probe) }
      }
      #expect(probe.counts.inFlight == 0)
    }
  }

  @Test("cancels all others in flight, and the call awaits them", arguments: [8, 1_000])
  func siblingsAreCancelled(limit: Int) async {
    for source in SmallWorld.Source.allCases {
      let probe = InFlightProbe()
      let cancelled = Atomic<Int>(0)
      let never = Gate()
      await #expect(throws: Boom(offset: 0)) {
        try await SmallWorld(source: source, count: limit, limit: limit).forEach { element in
          try await probe.body {
            if element == 0 {
              await probe.waitUntilStarted(limit)
              throw Boom(offset: 0)
            }
            do {
              try await never.passUnlessCancelled()
            } catch {
              // The call waits for this too, though it suspends again.
              for _ in 0..<3 { await Task.yield() }
              cancelled.add(1, ordering: .relaxed)
              throw error
            }
          }
        }
      }
      #expect(cancelled.load(ordering: .relaxed) == limit - 1, "\(source)")
      #expect(probe.counts.inFlight == 0, "\(source)")
      #expect(probe.peak == limit, "\(source)")
    }
  }

  @Test("starts nothing further")
  func nothingFurther() async {
    for source in SmallWorld.Source.allCases {
      let probe = InFlightProbe()
      await #expect(throws: Boom.self) {
        try await SmallWorld(source: source, count: 1_000, limit: 2).forEach { element in
          try await probe.body {
            if element < 2 { await probe.waitUntilStarted(2) }
            throw Boom(offset: element)
          }
        }
      }
      #expect(probe.counts.started == 2, "\(source)")
    }
  }

  @Test("before the first await is thrown too", arguments: [1, 8])
  func withoutSuspension(limit: Int) async {
    await #expect(throws: Boom(offset: 0)) {
      try await (0..<100).concurrentMap(limit: limit) { (element) throws(Boom) -> Int in
        if element == 0 { throw Boom(offset: 0) }
        return element
      }
    }
  }

  @Test("that comes first in time is thrown, though it is not first in order")
  func firstInTime() async {
    let never = Gate()
    await #expect(throws: Boom(offset: 2)) {
      try await [0, 1, 2].concurrentMap(limit: 3) { element in
        if element == 0 { try await never.passUnlessCancelled() }
        if element == 2 { throw Boom(offset: 2) }
        return element
      }
    }
  }

  @Test("is not hidden by the errors that its cancellation causes")
  func causeIsKept() async {
    for _ in 0..<200 {
      let probe = InFlightProbe()
      let never = Gate()
      await #expect(throws: Boom(offset: 3)) {
        try await (0..<8).concurrentForEach(limit: 8) { element in
          try await probe.body {
            await probe.waitUntilStarted(8)
            if element == 3 { throw Boom(offset: 3) }
            do { try await never.passUnlessCancelled() } catch { throw Boom(offset: -1) }
          }
        }
      }
    }
  }

  @Test("may be a cancellation that nobody asked for")
  func unpromptedCancellation() async {
    for source in SmallWorld.Source.allCases {
      await #expect(throws: CancellationError.self) {
        _ = try await SmallWorld(source: source, count: 20, limit: 3).map { element in
          if element == 7 { throw CancellationError() }
          return element
        }
      }
    }
  }

  @Test("ends the call at once while the source is silent, whose iteration it cancels")
  func silentSource() async {
    // Silent until its cancellation: that the call returns shows that it was cancelled.
    let isSilent = Gate()
    let source = AsyncNumbers(count: 1, isSilentAtEnd: true, onSilence: { isSilent.open() })
    await #expect(throws: Boom(offset: 0)) {
      try await source.concurrentForEach(limit: 3) { element throws(Boom) in
        await isSilent.pass()
        throw Boom(offset: element)
      }
    }
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    continuation.yield(7)
    await #expect(throws: Boom(offset: 7)) {
      try await stream.concurrentMap(limit: 3) { element throws(Boom) -> Int in
        throw Boom(offset: element)
      }
    }
    continuation.finish()
  }

  @Test("of the source is thrown, and cancels those in flight, which are awaited")
  func sourceFails() async {
    let probe = InFlightProbe()
    let never = Gate()
    await #expect(throws: Boom(offset: 3)) {
      try await FailingNumbers(count: 3).concurrentForEach(limit: 4) { element in
        try await probe.body {
          do { try await never.passUnlessCancelled() } catch { throw Boom(offset: -element) }
        }
      }
    }
    #expect(probe.counts.inFlight == 0)
    await #expect(throws: Boom(offset: 3)) {
      try await FailingNumbers(count: 3).concurrentMap(limit: 4) { $0 }
    }
  }

  @Test("lets go of every element and output")
  func releasesEverything() async {
    final class Thing: Sendable {
      static let alive = Atomic<Int>(0)
      init() { Thing.alive.add(1, ordering: .relaxed) }
      deinit { Thing.alive.subtract(1, ordering: .relaxed) }
    }
    for source in [true, false] {
      let elements = (0..<500).map { _ in Thing() }
      let failing = elements[300]
      await #expect(throws: Boom.self) {
        @Sendable func body(_ element: Thing) async throws -> Thing {
          await Task.yield()
          if element === failing { throw Boom(offset: 300) }
          return Thing()
        }
        if source {
          _ = try await elements.concurrentMap(limit: 4, body)
        } else {
          _ = try await elements.lazy.map { $0 }.concurrentMap(limit: 4, body)
        }
      }
      withExtendedLifetime(elements) {
        #expect(Thing.alive.load(ordering: .relaxed) == 500)
      }
    }
  }
}
