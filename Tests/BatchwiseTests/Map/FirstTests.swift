// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Synchronization
import Testing

@testable import Batchwise

@Suite("A search for the first success", .timeLimit(.minutes(1)))
struct FirstTests {
  @Test("returns what succeeds first in time, though it is not first in order")
  func firstInTime() async throws {
    for source in SmallWorld.Source.allCases {
      let probe = InFlightProbe()
      let output = try await SmallWorld(source: source, count: 3, limit: 3).first { element in
        try await probe.body {
          await probe.waitUntilStarted(3)
          if element == 0 { try await Gate().passUnlessCancelled() }
          if element == 1 { throw Boom(offset: 1) }
          return element
        }
      }
      #expect(output == 2, "\(source)")
      #expect(probe.counts.inFlight == 0, "\(source)")
    }
  }

  @Test("cancels all others in flight, and awaits them", arguments: [8, 1_000])
  func othersAreCancelled(limit: Int) async throws {
    for source in SmallWorld.Source.allCases {
      let probe = InFlightProbe()
      let cancelled = Atomic<Int>(0)
      let output = try await SmallWorld(source: source, count: limit, limit: limit).first {
        element in
        try await probe.body {
          if element == 3 {
            await probe.waitUntilStarted(limit)
            return element
          }
          do {
            try await Gate().passUnlessCancelled()
          } catch {
            // The call waits for this too, and drops what comes of it.
            for _ in 0..<3 { await Task.yield() }
            cancelled.add(1, ordering: .relaxed)
          }
          if element.isMultiple(of: 2) { throw Boom(offset: element) }
          return element
        }
      }
      #expect(output == 3, "\(source)")
      #expect(cancelled.load(ordering: .relaxed) == limit - 1, "\(source)")
      #expect(probe.counts.inFlight == 0, "\(source)")
      #expect(probe.peak == limit, "\(source)")
    }
  }

  @Test("starts nothing behind a success")
  func nothingFurther() async {
    for source in SmallWorld.Source.allCases {
      let probe = InFlightProbe()
      let output = await SmallWorld(source: source, count: 1_000, limit: 1).first { element in
        await probe.body { element }
      }
      #expect(output == 0, "\(source)")
      #expect(probe.counts.started == 1, "\(source)")
    }
  }

  @Test("goes on behind failures, and does not throw them", arguments: [1, 3, .max])
  func failuresMakeRoom(limit: Int) async throws {
    for source in SmallWorld.Source.allCases {
      let world = SmallWorld(source: source, count: 200, limit: limit)
      let output = try await world.first { element throws(Boom) in
        if element < 199 { throw Boom(offset: element) }
        return element
      }
      #expect(output == 199, "\(source)")
    }
  }

  @Test("throws the failure of the earliest element when all have failed, however slow it was")
  func allFail() async {
    for source in SmallWorld.Source.allCases {
      let probe = InFlightProbe()
      await #expect(throws: Boom(offset: 0)) {
        try await SmallWorld(source: source, count: 20, limit: 4).first {
          element throws(Boom) in
          try await probe.body { () async throws(Boom) in
            if element == 0 { await probe.waitUntilStarted(20) }
            throw Boom(offset: element)
          }
        }
      }
      #expect(probe.counts.ended == 20, "\(source)")
    }
  }

  @Test("of nothing is nil, and an output of nil is a success", arguments: [1, 8, .max])
  func empty(limit: Int) async {
    #expect(await [Int]().concurrentFirst(limit: limit) { $0 } == nil)
    #expect(await LazyNumbers(count: 0).concurrentFirst(limit: limit) { $0 } == nil)
    #expect(await AsyncNumbers(count: 0).concurrentFirst(limit: limit) { $0 } == nil)
    let output = await [1].concurrentFirst(limit: limit) { _ in nil as Int? }
    #expect(output == .some(nil))
  }

  @Test("notices a success while the source is silent, whose iteration it cancels")
  func silentSource() async {
    let isSilent = Gate()
    let source = AsyncNumbers(count: 2, isSilentAtEnd: true, onSilence: { isSilent.open() })
    let output = await source.concurrentFirst(limit: 3) { element in
      await isSilent.pass()
      return element
    }
    #expect(output == 0 || output == 1)

    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    continuation.yield(7)
    #expect(await stream.concurrentFirst(limit: 1) { $0 } == 7)
    continuation.finish()
  }

  @Test("ends in a source that never does", arguments: [1, 8, 64])
  func endlessSource(limit: Int) async throws {
    @Sendable func body(_ element: Int) async throws(Boom) -> Int {
      if element.isMultiple(of: 2) { await Task.yield() }
      if element < 5_000 { throw Boom(offset: element) }
      return element
    }
    let fromSequence = try await LazyNumbers(count: .max).concurrentFirst(limit: limit, body)
    #expect(try #require(fromSequence) >= 5_000)
    let fromAsync = try await AsyncNumbers(count: .max, burst: 100).concurrentFirst(
      limit: limit, body)
    #expect(try #require(fromAsync) >= 5_000)
  }

  @Test("of a source that fails still takes a success from those in flight")
  func successBehindAFailingSource() async throws {
    let output = try await FailingNumbers(count: 3).concurrentFirst(limit: 4) { element in
      // Long enough for the source to have failed; a success before that is no less one.
      for _ in 0..<200 { await Task.yield() }
      if element < 2 { throw Boom(offset: element) }
      return element
    }
    #expect(output == 2)
  }

  @Test("of a source that fails throws its error, if no element has succeeded", arguments: 0...4)
  func sourceFails(count: Int) async {
    let probe = InFlightProbe()
    await #expect(throws: Boom(offset: count)) {
      try await FailingNumbers(count: count).concurrentFirst(limit: 2) { element -> Int in
        try await probe.body { throw Boom(offset: -1 - element) }
      }
    }
    #expect(probe.counts.inFlight == 0)
    #expect(probe.counts.started == count)
  }

  @Test("keeps the type of what its transformation throws")
  func typedThrows() async {
    // These lines are the test: they compile without a `try`, or with a typed `catch`.
    let first: Int? = await [5].concurrentFirst(limit: 2) { $0 }
    #expect(first == 5)
    do throws(Boom) {
      _ = try await [1, 2].concurrentFirst(limit: 1) { element throws(Boom) -> Int in
        throw Boom(offset: element)
      }
      Issue.record("all have failed")
    } catch {
      #expect(error == Boom(offset: 1))
    }
    do throws(Boom) {
      _ = try await AsyncNumbers(count: 2).concurrentFirst(limit: 1) {
        element throws(Boom) -> Int in
        throw Boom(offset: element)
      }
      Issue.record("all have failed")
    } catch {
      #expect(error == Boom(offset: 0))
    }
  }

  @Test("takes a cancellation that nobody asked for as a failure like others")
  func unpromptedCancellation() async throws {
    let output = try await [1, 2, 3].concurrentFirst(limit: 1) { element in
      if element < 3 { throw CancellationError() }
      return element
    }
    #expect(output == 3)
  }

  @Test("ends with the cancellation of its caller, though elements fail of it")
  func cancelledCaller() async {
    for count in [2, 50] {
      for source in SmallWorld.Source.allCases {
        let probe = InFlightProbe()
        let task = Task {
          try await SmallWorld(source: source, count: count, limit: 2).first { element -> Int in
            try await probe.body {
              do { try await Gate().passUnlessCancelled() } catch { throw Boom(offset: element) }
              return element
            }
          }
        }
        await probe.waitUntilStarted(2)
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        #expect(probe.counts.started == 2 && probe.counts.inFlight == 0)
      }
    }
  }

  @Test("lets go of every element, output and failure")
  func releasesEverything() async throws {
    final class Thing: Error {
      static let alive = Atomic<Int>(0)
      init() { Thing.alive.add(1, ordering: .relaxed) }
      deinit { Thing.alive.subtract(1, ordering: .relaxed) }
    }
    let output = try await (0..<500).lazy.map { _ in Thing() }.concurrentFirst(limit: 4) {
      thing throws(Thing) -> Thing in
      await Task.yield()
      if Thing.alive.load(ordering: .relaxed) < 40 { throw Thing() }
      return thing
    }
    withExtendedLifetime(output) {
      #expect(Thing.alive.load(ordering: .relaxed) == (output == nil ? 0 : 1))
    }
  }
}
