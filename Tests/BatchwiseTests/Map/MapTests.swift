// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseTesting
import Synchronization
import Testing

@Suite("A map, on real threads", .timeLimit(.minutes(2)))
struct MapTests {
  enum Key {
    @TaskLocal static var name = "nobody"
  }

  @Test("keeps source order for hundreds of thousands of elements")
  func manyElements() async {
    let count = 300_000
    let expected = (0..<count).map { $0 &* 3 }
    #expect(await Array(0..<count).concurrentMap(limit: 8) { $0 &* 3 } == expected)
    #expect(await (0..<count).concurrentMap(limit: 8) { $0 &* 3 } == expected)
    let some = Array(expected.prefix(50_000))
    #expect(await LazyNumbers(count: 50_000).concurrentMap(limit: 3) { $0 &* 3 } == some)
    #expect(await AsyncNumbers(count: 50_000).concurrentMap(limit: 8) { $0 &* 3 } == some)
  }

  @Test("loses and repeats nothing when bodies suspend", arguments: [1, 2, 3, 8, 100, .max])
  func suspendingBodies(limit: Int) async {
    let count = 3_000
    let expected = (0..<count).map { "\($0)" }
    @Sendable func body(_ element: Int) async -> String {
      for _ in 0..<(element % 4) { await Task.yield() }
      return "\(element)"
    }
    #expect(await Array(0..<count).concurrentMap(limit: limit, body) == expected)
    #expect(await LazyNumbers(count: count).concurrentMap(limit: limit, body) == expected)
    #expect(await AsyncNumbers(count: count).concurrentMap(limit: limit, body) == expected)
  }

  @Test("of nothing is nothing, with any limit", arguments: [1, 8, .max])
  func empty(limit: Int) async {
    #expect(await [Int]().concurrentMap(limit: limit) { $0 } == [])
    #expect(await LazyNumbers(count: 0).concurrentMap(limit: limit) { $0 } == [])
    #expect(await AsyncNumbers(count: 0).concurrentMap(limit: limit) { $0 } == [])
  }

  @Test("has exactly as many in flight as the limit allows", arguments: [1, 2, 7, 64, .max])
  func peak(limit: Int) async {
    let count = 100
    let most = min(limit, count)
    for world in SmallWorld.Source.allCases {
      let probe = InFlightProbe()
      let gate = Gate()
      async let outputs = SmallWorld(source: world, count: count, limit: limit).map { element in
        await probe.body {
          await gate.pass()
          return element
        }
      }
      await probe.waitUntilStarted(most)
      gate.open()
      #expect(await outputs == Array(0..<count))
      #expect(probe.peak == most, "\(world)")
    }
  }

  @Test("uses no more tasks than the limit", arguments: SmallWorld.Source.allCases)
  func tasks(source: SmallWorld.Source) async {
    let tasks = Mutex<Set<Int>>([])
    await SmallWorld(source: source, count: 1_000, limit: 3).forEach { _ in
      let task = withUnsafeCurrentTask { $0?.hashValue }
      _ = tasks.withLock { $0.insert(task ?? 0) }
      await Task.yield()
    }
    #expect(tasks.withLock { $0.count } <= 3)
  }

  @Test("carries the caller's task-local values and priority into every body")
  func context() async {
    for source in SmallWorld.Source.allCases {
      let seen = await Key.$name.withValue("caller") {
        await Task(priority: .low) {
          await SmallWorld(source: source, count: 20, limit: 3).map { _ in
            Key.name == "caller" && Task.currentPriority >= .low ? 1 : 0
          }
        }.value
      }
      #expect(seen == Array(repeating: 1, count: 20))
    }
  }

  @Test("keeps the type of what its body throws")
  func typedThrows() async {
    // These lines are the test: they compile without a `try`, or with a typed `catch`.
    let never: [Int] = await [1, 2].concurrentMap(limit: 2) { $0 + 1 }
    #expect(never == [2, 3])
    do throws(Boom) {
      _ = try await [1, 2].concurrentMap(limit: 1) { element throws(Boom) in
        throw Boom(offset: element)
      }
    } catch {
      #expect(error == Boom(offset: 1))
    }
    do throws(Boom) {
      try await AsyncNumbers(count: 2).concurrentForEach(limit: 1) { element throws(Boom) in
        throw Boom(offset: element)
      }
    } catch {
      #expect(error == Boom(offset: 0))
    }
    await #expect(throws: CancellationError.self) {
      try await [1].concurrentMap(limit: 1) { _ in throw CancellationError() }
    }
  }

  @Test("starts each element of a slow source at once")
  func slowSource() async {
    // Each element is given only after the one before it has started.
    let probe = InFlightProbe()
    let gate = Gate()
    let source = AsyncStream<Int> { continuation in
      Task {
        for number in 0..<50 {
          continuation.yield(number)
          await probe.waitUntilStarted(number + 1)
        }
        gate.open()
        continuation.finish()
      }
    }
    await source.concurrentForEach(limit: 50) { _ in
      await probe.body { await gate.pass() }
    }
    #expect(probe.peak == 50)
  }

  @Test("starts each element at once while the source blocks the reading thread")
  @MainActor func blockingSource() async {
    let probe = InFlightProbe()
    // Like `readLine()`: the next element comes only when the one before it has started.
    let source = sequence(state: 0) { (next: inout Int) -> Int? in
      while probe.counts.started < next {}
      next += 1
      return next <= 200 ? next : nil
    }
    await source.concurrentForEach(limit: 4) { _ in
      await probe.body { await Task.yield() }
    }
    #expect(probe.counts.ended == 200)
  }

  @Test("nested in a map returns")
  func nested() async {
    let table = await (0..<20).concurrentMap(limit: 4) { row in
      await (0..<20).concurrentMap(limit: 4) { column in row * column }
    }
    #expect(table == (0..<20).map { row in (0..<20).map { row * $0 } })
  }
}
