// SPDX-License-Identifier: Apache-2.0

import Batchwise
import Testing

/// A closure inside a task group leaves the actor unless it captures the isolation, and the compiler
/// does not say so.
///
/// That is how a first sketch came to read the caller's own sequence on another thread.
@Suite("A sequence that belongs to an actor", .timeLimit(.minutes(1)))
@MainActor
struct IsolationTests {
  /// Not Sendable, and true to the main actor.
  private final class Counter {
    var value = 0

    func next(below end: Int) -> Int? {
      MainActor.preconditionIsolated("the sequence left its actor")
      guard value < end else { return nil }
      defer { value += 1 }
      return value
    }
  }

  private struct CountedNumbers: Sequence {
    let counter: Counter
    let end: Int

    func makeIterator() -> AnyIterator<Int> {
      MainActor.preconditionIsolated("the sequence left its actor")
      return AnyIterator { counter.next(below: end) }
    }
  }

  /// Conforms on the main actor only.
  @MainActor private final class MainNumbers: @MainActor Sequence {
    var value = 0

    func makeIterator() -> AnyIterator<Int> {
      AnyIterator {
        MainActor.assumeIsolated {
          self.value += 1
          return self.value <= 2_000 ? self.value : nil
        }
      }
    }
  }

  @Test("is read on that actor alone, however often the reading waits")
  func staysOnMain() async {
    let counter = Counter()
    let outputs = await CountedNumbers(counter: counter, end: 2_000).concurrentMap(limit: 3) {
      await Task.yield()
      return $0 * 2
    }
    #expect(outputs == (0..<2_000).map { $0 * 2 })
    counter.value = 0
    await CountedNumbers(counter: counter, end: 2_000).concurrentForEach(limit: 3) { _ in
      await Task.yield()
    }
    #expect(counter.value == 2_000)
  }

  @Test("may conform to Sequence on that actor only")
  func isolatedConformance() async {
    let numbers = MainNumbers()
    let outputs = await numbers.concurrentMap(limit: 3) { element in
      await Task.yield()
      return element
    }
    #expect(outputs == Array(1...2_000))
  }

  private actor Owner {
    private let counter = Counted()

    private final class Counted {
      var value = 0
    }

    func run() async -> Int {
      let numbers = sequence(state: counter) { counter -> Int? in
        self.assertIsolated("the sequence left its actor")
        counter.value += 1
        return counter.value <= 1_000 ? counter.value : nil
      }
      return await numbers.concurrentMap(limit: 2) {
        await Task.yield()
        return $0
      }.count
    }
  }

  @Test("may belong to any actor")
  func anyActor() async {
    #expect(await Owner().run() == 1_000)
  }
}
