// SPDX-License-Identifier: Apache-2.0

import Batchwise

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What an element costs, compared with the same work written by hand, and the memory it asks for.
///
/// Times depend on the machine and on what else it does, so only ratios count: each subject is
/// measured next to its baseline, round by round, and the medians are compared. A goal that is
/// missed ends the program with a failure. A word on the command line picks the subjects that have
/// it in their name.
@main
struct Core {
  static let limit = 8
  static let rounds = 7

  static func main() async {
    let word = CommandLine.arguments.dropFirst().first ?? ""
    if await !measure(word) { exit(1) }
  }

  /// Not on the main actor, whose executor is slower to wake than the pool, for either side.
  @concurrent static func measure(_ word: String) async -> Bool {
    let all = mapping() + streaming() + limiters() + queues()
    let comparisons = all.filter { $0.subject.name.contains(word) }
    let areFast = await report(comparisons, rounds: rounds)
    let areLean = await report(needs().filter { $0.name.contains(word) })
    return areFast && areLean
  }

  static func mapping() -> [Comparison] {
    let million = Array(0..<1_000_000)
    let some = Array(0..<100_000)
    let window = Subject("window of child tasks, by hand", count: million.count) {
      _ = await slidingWindow(million, limit: limit) { $0 &+ 1 }
    }
    let yielding = Subject("array.concurrentMap, bodies that yield", count: some.count) {
      _ = await some.concurrentMap(limit: limit) { number in
        await Task.yield()
        return number &+ 1
      }
    }
    return [
      Comparison(
        Subject("array.concurrentMap", count: million.count) {
          _ = await million.concurrentMap(limit: limit) { $0 &+ 1 }
        }, to: window, atMost: 1 / 7),
      Comparison(
        Subject("array.concurrentCompactMap", count: million.count) {
          _ = await million.concurrentCompactMap(limit: limit) { $0 & 1 == 0 ? $0 : nil }
        }, to: window, atMost: 1 / 5),
      Comparison(
        Subject("array.concurrentFirst, which is the last", count: million.count) {
          _ = try? await million.concurrentFirst(limit: limit) { number throws(Missed) in
            if number < million.count - 1 { throw Missed() }
          }
        }, to: window, atMost: 1 / 3),
      Comparison(
        Subject("array.concurrentForEach, no limit", count: million.count) {
          await million.concurrentForEach(limit: .max) { _ in }
        }, to: window, atMost: 1),
      Comparison(
        Subject("lazy.concurrentMap", count: million.count) {
          _ = await million.lazy.map { $0 ^ 1 }.concurrentMap(limit: limit) { $0 &+ 1 }
        }, to: window, atMost: 1 / 5),
      Comparison(
        Subject("range.concurrentForEach", count: million.count) {
          await (0..<million.count).concurrentForEach(limit: limit) { _ in }
        }, to: window, atMost: 1 / 5),
      Comparison(
        Subject("async.concurrentMap", count: some.count) {
          _ = await Numbers(count: some.count).concurrentMap(limit: limit) { $0 &+ 1 }
        }, to: window, atMost: 1 / 5),
      Comparison(
        yielding,
        to: Subject("window, bodies that yield", count: some.count) {
          _ = await slidingWindow(some, limit: limit) { number in
            await Task.yield()
            return number &+ 1
          }
        }, atMost: 2 / 3),
      // A yield costs what it costs; beside it there is little left to save.
      Comparison(
        yielding,
        to: Subject("tasks that yield, and nothing else", count: some.count) {
          await yields(some.count, tasks: limit)
        }, atMost: 1.2),
    ]
  }

  static func streaming() -> [Comparison] {
    let some = Array(0..<100_000)
    let stream = Subject("AsyncStream, yield and next", count: some.count) {
      for await _ in bareStream(some) {}
    }
    return [
      Comparison(
        Subject("array.concurrentResults", count: some.count) {
          for await _ in some.concurrentResults(limit: limit, { $0 &+ 1 }) {}
        },
        to: Subject("window into a stream, by hand", count: some.count) {
          for await _ in slidingStream(some, limit: limit, { $0 &+ 1 }) {}
        }, atMost: 1 / 2),
      Comparison(
        Subject("array.concurrentResults", count: some.count) {
          for await _ in some.concurrentResults(limit: limit, { $0 &+ 1 }) {}
        }, to: stream, atMost: 1),
      Comparison(
        Subject("array.concurrentResults, completion", count: some.count) {
          for await _ in some.concurrentResults(limit: limit, order: .completion, { $0 &+ 1 }) {}
        }, to: stream, atMost: 1),
      Comparison(
        Subject("range.concurrentResults, readAhead 256", count: some.count) {
          let results = (0..<some.count).concurrentResults(limit: limit, readAhead: 256) { $0 &+ 1 }
          for await _ in results {}
        }, to: stream, atMost: 1),
      Comparison(
        Subject("async.concurrentResults", count: some.count) {
          for await _ in Numbers(count: some.count).concurrentResults(limit: limit, { $0 &+ 1 }) {}
        }, to: stream, atMost: 1),
    ]
  }

  /// Who asks for memory once in a hundred elements asks for blocks, or for room for results.
  ///
  /// Who asks more often is woken often, for which the pool asks for memory: a source that is read
  /// element by element waits now and then. Who asks with every element forgot something.
  static func needs() -> [Need] {
    let rarely = 0.01
    return [
      Need("array.concurrentMap", atMost: rarely) { count in
        _ = await Array(0..<count).concurrentMap(limit: limit) { $0 &+ 1 }
      },
      Need("array.concurrentMap, bodies that yield", atMost: nil) { count in
        _ = await Array(0..<count).concurrentMap(limit: limit) { number in
          await Task.yield()
          return number &+ 1
        }
      },
      Need("tasks that yield, and nothing else", atMost: nil) { count in
        await yields(count, tasks: limit)
      },
      Need("array.concurrentCompactMap", atMost: rarely) { count in
        _ = await Array(0..<count).concurrentCompactMap(limit: limit) { $0 & 1 == 0 ? $0 : nil }
      },
      Need("array.concurrentForEach", atMost: rarely) { count in
        await Array(0..<count).concurrentForEach(limit: limit) { _ in }
      },
      Need("array.concurrentFirst, which is the last", atMost: rarely) { count in
        _ = try? await Array(0..<count).concurrentFirst(limit: limit) { number throws(Missed) in
          if number < count - 1 { throw Missed() }
        }
      },
      Need("lazy.concurrentMap", atMost: 0.1) { count in
        _ = await (0..<count).lazy.map { $0 ^ 1 }.concurrentMap(limit: limit) { $0 &+ 1 }
      },
      Need("range.concurrentForEach", atMost: 0.1) { count in
        await (0..<count).concurrentForEach(limit: limit) { _ in }
      },
      Need("async.concurrentMap", atMost: 0.1) { count in
        _ = await Numbers(count: count).concurrentMap(limit: limit) { $0 &+ 1 }
      },
      Need("async.concurrentForEach", atMost: 0.1) { count in
        await Numbers(count: count).concurrentForEach(limit: limit) { _ in }
      },
      Need("array.concurrentResults", atMost: nil) { count in
        for await _ in Array(0..<count).concurrentResults(limit: limit, { $0 &+ 1 }) {}
      },
      Need("window of child tasks, by hand", atMost: nil) { count in
        _ = await slidingWindow(Array(0..<count), limit: limit) { $0 &+ 1 }
      },
      Need("AsyncStream, yield and next", atMost: nil) { count in
        for await _ in bareStream(Array(0..<count)) {}
      },
    ]
  }
}

/// A failure that is cheap.
struct Missed: Error {}

/// An asynchronous sequence that is never slow.
struct Numbers: AsyncSequence, Sendable {
  var count: Int

  func makeAsyncIterator() -> Iterator { Iterator(end: count) }

  struct Iterator: AsyncIteratorProtocol {
    let end: Int
    var number = 0

    mutating func next() async -> Int? { await next(isolation: #isolation) }

    mutating func next(isolation: isolated (any Actor)?) async -> Int? {
      guard number < end else { return nil }
      defer { number += 1 }
      return number
    }
  }
}
