// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseTesting
import Synchronization
import Testing

@Suite("Cancelling the caller", .timeLimit(.minutes(1)))
struct CancellationTests {
  @Test("reaches every body in flight, starts nothing further, and awaits them")
  func reachesAll() async {
    for source in SmallWorld.Source.allCases {
      let probe = InFlightProbe()
      let cancelled = Atomic<Int>(0)
      let never = Gate()
      let task = Task {
        try await SmallWorld(source: source, count: 100, limit: 20).map { element in
          try await probe.body {
            defer { if Task.isCancelled { cancelled.add(1, ordering: .relaxed) } }
            try await never.passUnlessCancelled()
            return element
          }
        }
      }
      await probe.waitUntilStarted(20)
      task.cancel()
      await #expect(throws: CancellationError.self) { _ = try await task.value }
      #expect(cancelled.load(ordering: .relaxed) == 20, "\(source)")
      #expect(probe.counts.started == 20 && probe.counts.inFlight == 0, "\(source)")
    }
  }

  @Test(
    "before the call lets nothing start, and is thrown for an empty list too, whichever the verb",
    arguments: SmallWorld.Source.allCases, [0, 1, 100])
  func alreadyCancelled(source: SmallWorld.Source, count: Int) async {
    let probe = InFlightProbe()
    let world = SmallWorld(source: source, count: count, limit: 3)
    @Sendable func body(_ element: Int) async throws -> Int {
      try await probe.body {
        try Task.checkCancellation()
        return element
      }
    }
    await cancelled {
      await #expect(throws: CancellationError.self) { _ = try await world.map(body) }
      await #expect(throws: CancellationError.self) { _ = try await world.compactMap(body) }
      await #expect(throws: CancellationError.self) { _ = try await world.first(body) }
      await #expect(throws: CancellationError.self) {
        try await world.forEach { element in _ = try await body(element) }
      }
    }
    #expect(probe.counts.started == 0)
  }

  @Test("before the call, of an empty list, is not told where the error type has no room for it")
  func alreadyCancelledWithoutRoom() async {
    for source in SmallWorld.Source.allCases {
      await cancelled {
        let world = SmallWorld(source: source, count: 0, limit: 3)
        #expect(await world.map { $0 } == [])
        #expect(await world.compactMap { $0 } == [])
        #expect(await world.first { $0 } == nil)
        await world.forEach { _ in }
        let none = try? await world.first { element throws(Boom) in element }
        #expect(none == .some(nil))
      }
    }
  }

  @Test("with no room for it in the error type, every element runs and sees it")
  func noRoom() async {
    for source in SmallWorld.Source.allCases {
      let seen = Atomic<Int>(0)
      let world = SmallWorld(source: source, count: 50, limit: 3)
      await cancelled {
        await world.forEach { _ in
          if Task.isCancelled { seen.add(1, ordering: .relaxed) }
        }
        let outputs = try? await world.map { element throws(Boom) in element }
        #expect(outputs == Array(0..<50))
        let kept = try? await world.compactMap { element throws(Boom) in element }
        #expect(kept == Array(0..<50))
        let last = try? await world.first { element throws(Boom) in
          if element < 49 { throw Boom(offset: element) }
          return element
        }
        #expect(last == 49)
      }
      #expect(seen.load(ordering: .relaxed) == 50, "\(source)")
    }
  }

  @Test("does not hide a failure that came before it")
  func failureFirst() async {
    let probe = InFlightProbe()
    let hasFailed = Gate()
    let task = Task {
      try await (0..<2).concurrentForEach(limit: 2) { element in
        try await probe.body {
          await probe.waitUntilStarted(2)
          if element == 0 { throw Boom(offset: 0) }
          // Cancelled by its sibling's failure; the caller is cancelled only then.
          try? await Gate().passUnlessCancelled()
          hasFailed.open()
          throw CancellationError()
        }
      }
    }
    await hasFailed.pass()
    task.cancel()
    await #expect(throws: Boom(offset: 0)) { try await task.value }
  }

  @Test("is not reported when every element had already run")
  func alreadyDone() async throws {
    let started = InFlightProbe()
    let gate = Gate()
    let task = Task {
      try await [1, 2].concurrentMap(limit: 2) { element in
        await started.body { await gate.pass() }
        // A body that does not care, and throws only in theory.
        if element < 0 { throw Boom(offset: element) }
        return element
      }
    }
    await started.waitUntilStarted(2)
    task.cancel()
    gate.open()
    #expect(try await task.value == [1, 2])
  }

  @Test("hides the errors that it causes, also when nothing is left to start")
  func causeIsKept() async {
    for count in [2, 50] {
      for source in SmallWorld.Source.allCases {
        let probe = InFlightProbe()
        let task = Task {
          try await SmallWorld(source: source, count: count, limit: 2).forEach { element in
            try await probe.body {
              do { try await Gate().passUnlessCancelled() } catch { throw Boom(offset: element) }
            }
          }
        }
        await probe.waitUntilStarted(2)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
      }
    }
  }

  @Test("while the source is read lets nothing further be read")
  func whileReading() async {
    let given = Mutex(0)
    let source = sequence(state: 0) { (next: inout Int) -> Int? in
      next += 1
      given.withLock { $0 = next }
      if next == 5 { withUnsafeCurrentTask { $0?.cancel() } }
      return next
    }
    await Task {
      let numbers = source
      await #expect(throws: CancellationError.self) {
        try await numbers.concurrentForEach(limit: 3) { _ in try Task.checkCancellation() }
      }
    }.value
    #expect(given.withLock { $0 } == 5)
  }

  @Test("cancels a silent source")
  func silentSource() async {
    let probe = InFlightProbe()
    let task = Task {
      try await AsyncNumbers(count: 1, isSilentAtEnd: true).concurrentMap(limit: 2) { element in
        try await probe.body {
          try Task.checkCancellation()
          return element
        }
      }
    }
    await probe.waitUntilStarted(1)
    task.cancel()
    await #expect(throws: CancellationError.self) { _ = try await task.value }
  }

  /// A source that gives one number, and answers its cancellation with its end.
  private struct EndingSource: AsyncSequence, Sendable {
    let onEnd: @Sendable () -> Void

    func makeAsyncIterator() -> Iterator { Iterator(onEnd: onEnd) }

    struct Iterator: AsyncIteratorProtocol {
      let onEnd: @Sendable () -> Void
      var hasGiven = false

      mutating func next() async -> Int? { await next(isolation: #isolation) }

      mutating func next(isolation: isolated (any Actor)?) async -> Int? {
        guard hasGiven else {
          hasGiven = true
          return 0
        }
        while !Task.isCancelled { await Task.yield() }
        onEnd()
        return nil
      }
    }
  }

  /// A source may end between the cancellation of its reader and the handler of the call.
  ///
  /// The reader and the bodies are cancelled one after the other, and the handler comes last. By then
  /// the source may have answered with its end, which must not be taken for the end of the list. The
  /// body holds the cancelling thread up there for a while; if that is too short, the test is weaker,
  /// but no less true.
  @Test("is never taken for the end of a source that answers it with its end")
  @MainActor func sourceThatEnds() async {
    let hasEnded = Atomic<Bool>(false)
    let isWaiting = Gate()
    let source = EndingSource { hasEnded.store(true, ordering: .relaxed) }
    let task = Task.detached {
      try await source.concurrentMap(limit: 2) { element in
        let end = Gate()
        await withTaskCancellationHandler {
          isWaiting.open()
          await end.pass()
        } onCancel: {
          var turns = 0
          while turns < 1_000_000 {
            if hasEnded.load(ordering: .relaxed) { turns += 1 }
          }
          end.open()
        }
        if element < 0 { throw Boom(offset: element) }
        return element
      }
    }
    await isWaiting.pass()
    task.cancel()
    await #expect(throws: CancellationError.self) { _ = try await task.value }
  }

  /// Cancels a task when the last reference to it goes.
  private final class Trap: Sendable {
    private let task: Mutex<Task<Void, Never>?>

    init(_ task: Task<Void, Never>?) {
      self.task = Mutex(task)
    }

    deinit {
      task.withLock { $0 }?.cancel()
    }
  }

  /// A block was let go of under the feed's lock, and such a deinit took that lock again: the
  /// process trapped.
  @Test("from the deinit of an element or of an unread outcome does not stop everything")
  func cancelledByADeinit() async {
    let caller = Mutex<Task<Void, Never>?>(nil)
    let isSet = Gate()
    let task = Task {
      await isSet.pass()
      let traps = (0..<1_000).lazy.map { _ in Trap(caller.withLock { $0 }) }
      _ = try? await traps.concurrentForEach(limit: 2) { _ in try Task.checkCancellation() }
    }
    caller.withLock { $0 = task }
    isSet.open()
    await task.value

    let isReading = Gate()
    let reader = Mutex<Task<Void, Never>?>(nil)
    let reading = Task {
      await isReading.pass()
      let results = (0..<1_000).concurrentResults(limit: 4, readAhead: 100) { element in
        if element == 3 { try? await Gate().passUnlessCancelled() }
        return Trap(reader.withLock { $0 })
      }
      for await outcome in results where outcome.offset == 2 {
        withUnsafeCurrentTask { $0?.cancel() }
      }
    }
    reader.withLock { $0 = reading }
    isReading.open()
    await reading.value
  }

  /// Runs the operation in a task that is cancelled from the start.
  private func cancelled(_ operation: @escaping @Sendable () async -> Void) async {
    await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      await operation()
    }.value
  }
}
