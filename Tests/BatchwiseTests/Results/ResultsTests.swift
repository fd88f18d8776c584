// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseTesting
import Synchronization
import Testing

@Suite("Streamed results, on real threads", .timeLimit(.minutes(1)))
struct ResultsTests {
  @Test("hold a failing element as an outcome, with its offset, and go on")
  func outcomes() async {
    let results = (0..<100).concurrentResults(limit: 4) { element throws(Boom) -> String in
      if element.isMultiple(of: 10) { throw Boom(offset: element) }
      return "\(element)"
    }
    var offset = 0
    for await outcome in results {
      let expected: Result<String, Boom> =
        offset.isMultiple(of: 10) ? .failure(Boom(offset: offset)) : .success("\(offset)")
      #expect(outcome == ConcurrentResult(offset: offset, result: expected))
      offset += 1
    }
    #expect(offset == 100)
  }

  @Test("come in completion order as soon as they are there")
  func completionOrder() async {
    let gates = (0..<4).map { _ in Gate() }
    let results = (0..<4).concurrentResults(limit: 4, order: .completion) { element in
      await gates[element].pass()
      return element
    }
    var iterator = results.makeAsyncIterator()
    for offset in [2, 0, 3, 1] {
      gates[offset].open()
      #expect(await iterator.next(isolation: nil)?.offset == offset)
    }
    #expect(await iterator.next(isolation: nil) == nil)
    #expect(await iterator.next(isolation: nil) == nil)
  }

  @Test(
    "have exactly as many elements in flight as the limit allows",
    arguments: [1, 3, 64], [ConcurrentResultsOrder.source, .completion])
  func peak(limit: Int, order: ConcurrentResultsOrder) async {
    let probe = InFlightProbe()
    let source = AsyncNumbers(count: 200)
    let results = source.concurrentResults(limit: limit, order: order) { element in
      await probe.body {
        await probe.waitUntilStarted(limit)
        await Task.yield()
        return element
      }
    }
    var count = 0
    for await _ in results { count += 1 }
    #expect(count == 200)
    #expect(probe.peak == limit)
  }

  @Test(
    "let others run ahead of a slow element, exactly as far as readAhead allows",
    arguments: [0, 1, 4, 50])
  func readAheadBehindASlowElement(readAhead: Int) async {
    let limit = 4
    let gate = Gate()
    let probe = InFlightProbe()
    let given = Mutex(0)
    let source = AsyncNumbers(count: 200) { number in given.withLock { $0 = number + 1 } }
    let results = source.concurrentResults(limit: limit, readAhead: readAhead) { element in
      await probe.body { if element == 0 { await gate.pass() } }
    }
    async let offsets = results.reduce(into: []) { $0.append($1.offset) }
    await probe.waitUntilStarted(limit + readAhead)
    // Whatever could still start would do so before this many turns have passed.
    for _ in 0..<1_000 { await Task.yield() }
    #expect(probe.counts.started == limit + readAhead)
    #expect(given.withLock { $0 } == limit + readAhead)
    gate.open()
    #expect(await offsets == Array(0..<200))
  }

  @Test(
    "of which nobody reads stop the reading of the source",
    arguments: [ConcurrentResultsOrder.source, .completion])
  func slowReader(order: ConcurrentResultsOrder) async {
    let given = Mutex(0)
    let mostAhead = Mutex(0)
    let read = Mutex(0)
    let source = AsyncNumbers(count: 500) { number in
      given.withLock { $0 = number + 1 }
      let ahead = number + 1 - read.withLock { $0 }
      mostAhead.withLock { $0 = max($0, ahead) }
    }
    var count = 0
    for await _ in source.concurrentResults(
      limit: 3, order: order, readAhead: 2, { element in element })
    {
      // One is in the reader's hand before it counts it.
      count += 1
      for _ in 0..<20 { await Task.yield() }
      read.withLock { $0 = count }
    }
    #expect(count == 500)
    #expect(mostAhead.withLock { $0 } == 3 + 2 + 1)
  }

  /// An array was shared with the workers whole, and so the window did not hold them.
  @Test(
    "of an array keep within their bounds too",
    arguments: [0, 1, 4], [ConcurrentResultsOrder.source, .completion])
  func arrayKeepsWithinTheWindow(readAhead: Int, order: ConcurrentResultsOrder) async {
    let probe = InFlightProbe()
    let results = Array(0..<200).concurrentResults(limit: 3, order: order, readAhead: readAhead) {
      element in await probe.body { element }
    }
    var count = 0
    for await _ in results {
      count += 1
      // Whatever could still start would do so before this many turns have passed.
      for _ in 0..<20 { await Task.yield() }
      #expect(probe.counts.started <= count + 3 + readAhead)
    }
    #expect(count == 200)
  }

  @Test("go on being worked on between two readings")
  func worksBetweenReadings() async {
    let probe = InFlightProbe()
    let results = (0..<100).concurrentResults(limit: 2, readAhead: 10) { element in
      await probe.body { element }
    }
    var iterator = results.makeAsyncIterator()
    #expect(await iterator.next(isolation: nil)?.offset == 0)
    // Nobody asks for an element, and thirteen start: one was read, twelve may be held.
    await probe.waitUntilStarted(13)
    #expect(await iterator.next(isolation: nil)?.offset == 1)
  }

  @Test("do not begin before the first is asked for")
  func beginsLazily() async {
    let probe = InFlightProbe()
    let results = (0..<3).concurrentResults(limit: 2) { element in
      await probe.body { element }
    }
    var iterator = results.makeAsyncIterator()
    for _ in 0..<100 { await Task.yield() }
    #expect(probe.counts.started == 0)
    #expect(await iterator.next(isolation: nil)?.offset == 0)
  }

  @Test("are a run of their own for every iterator")
  func iteratorsAreIndependent() async {
    let results = (0..<10).concurrentResults(limit: 3) { $0 }
    var first = results.makeAsyncIterator()
    var second = results.makeAsyncIterator()
    for offset in 0..<10 {
      #expect(await first.next(isolation: nil)?.offset == offset)
      #expect(await second.next(isolation: nil)?.offset == offset)
    }
    #expect(await first.next(isolation: nil) == nil)
    #expect(await second.next(isolation: nil) == nil)
  }

  @Test("cancel what is in flight when the iterator is dropped")
  func droppedIterator() async {
    let probe = InFlightProbe()
    let cancelled = InFlightProbe()
    do {
      let results = (0..<100).concurrentResults(limit: 5, order: .completion) { element in
        await probe.body {
          if element == 0 { return }
          try? await Gate().passUnlessCancelled()
          await cancelled.body {}
        }
      }
      var iterator = results.makeAsyncIterator()
      #expect(await iterator.next(isolation: nil)?.offset == 0)
      await probe.waitUntilStarted(6)
    }
    await cancelled.waitUntilStarted(5)
    #expect(probe.counts.started == 6)
  }

  @Test("cancel what is in flight when the loop that reads them throws")
  func readerThrows() async {
    let probe = InFlightProbe()
    let cancelled = InFlightProbe()
    await #expect(throws: Boom(offset: 0)) {
      let results = LazyNumbers(count: .max).concurrentResults(limit: 3, order: .completion) {
        element in
        await probe.body {
          if element == 0 {
            await probe.waitUntilStarted(3)
            return
          }
          try? await Gate().passUnlessCancelled()
          await cancelled.body {}
        }
      }
      for await outcome in results { throw Boom(offset: outcome.offset) }
    }
    await cancelled.waitUntilStarted(2)
    #expect(probe.counts.started <= 4)
  }

  @Test(
    "can be read while the source is silent, which a dropped iterator cancels",
    arguments: [ConcurrentResultsOrder.source, .completion])
  func silentSource(order: ConcurrentResultsOrder) async {
    final class Thing: Sendable {}
    weak var captured: Thing?
    let isDropped = Gate()
    do {
      let thing = Thing()
      captured = thing
      let source = AsyncNumbers(count: 3, isSilentAtEnd: true, onSilence: { _ = thing })
      let results = source.concurrentResults(limit: 2, order: order) { element in
        if element == 2 { await isDropped.pass() }
        return element
      }
      var iterator = results.makeAsyncIterator()
      var offsets: Set<Int> = []
      for _ in 0..<2 {
        if let outcome = await iterator.next(isolation: nil) { offsets.insert(outcome.offset) }
      }
      #expect(offsets == [0, 1])
    }
    isDropped.open()
    // The run lets go of its source when it is over, which is soon, but not at once.
    while captured != nil { await Task.yield() }
  }

  @Test("whose reader is cancelled end only when nothing is at work any more")
  func cancelledReader() async {
    let probe = InFlightProbe()
    let task = Task {
      let results = (0..<100).concurrentResults(limit: 5) { element in
        await probe.body {
          // Hears of the cancellation, and is in no hurry.
          try? await Gate().passUnlessCancelled()
          for _ in 0..<20 { await Task.yield() }
        }
      }
      let count = await results.reduce(0) { count, _ in count + 1 }
      return (count, probe.counts.inFlight)
    }
    await probe.waitUntilStarted(5)
    task.cancel()
    let (count, inFlight) = await task.value
    #expect(count == 0)
    #expect(inFlight == 0)
    #expect(probe.counts.started == 5)
  }

  @Test("asked for by a cancelled task end at once, and nothing starts")
  func alreadyCancelled() async {
    let probe = InFlightProbe()
    let outcome = await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      var iterator = (0..<3).concurrentResults(limit: 2) { element in
        await probe.body { element }
      }.makeAsyncIterator()
      return await iterator.next(isolation: nil)?.offset
    }.value
    #expect(outcome == nil)
    #expect(probe.counts.started == 0)
  }

  @Test("throw what the source throws, behind the outcomes of all it gave before")
  func sourceFails() async {
    var offsets: [Int] = []
    do throws(Boom) {
      for try await outcome in FailingNumbers(count: 20).concurrentResults(limit: 3, { $0 }) {
        offsets.append(outcome.offset)
      }
      Issue.record("the source failed")
    } catch {
      #expect(error == Boom(offset: 20))
    }
    #expect(offsets == Array(0..<20))
  }

  @Test("carry the first reader's task-local values into every body")
  func context() async {
    await MapTests.Key.$name.withValue("reader") {
      for await outcome in LazyNumbers(count: 20).concurrentResults(
        limit: 3, { _ in MapTests.Key.name })
      {
        #expect(outcome.result.get() == "reader")
      }
    }
  }

  @Test("let go of elements, outcomes and the body when they are over or dropped")
  func releasesEverything() async {
    final class Thing: Sendable {}
    for taken in [1, 30] {
      weak var captured: Thing?
      do {
        let thing = Thing()
        captured = thing
        let results = (0..<30).concurrentResults(limit: 3) { _ in thing }
        var left = taken
        for await _ in results {
          left -= 1
          if left == 0 { break }
        }
      }
      // A dropped run ends soon, but not at once.
      while captured != nil { await Task.yield() }
    }
  }

  @Test("lose and repeat nothing, in either order, with any limit", arguments: [1, 2, 8, .max])
  func conserved(limit: Int) async {
    for order in [ConcurrentResultsOrder.source, .completion] {
      for readAhead in [0, 3, nil, .max] {
        let results = LazyNumbers(count: 500).concurrentResults(
          limit: limit, order: order, readAhead: readAhead
        ) { element in
          for _ in 0..<(element % 3) { await Task.yield() }
          return element
        }
        let offsets = await results.reduce(into: []) { $0.append($1.offset) }
        #expect(order == .source ? offsets == Array(0..<500) : offsets.sorted() == Array(0..<500))
      }
    }
  }
}
