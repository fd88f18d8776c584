// SPDX-License-Identifier: Apache-2.0

import Batchwise

/// What an element costs, compared with the same work written by hand.
///
/// Times depend on the machine and on what else it does, so only ratios count: each subject is
/// measured next to its baseline, round by round, and the medians are compared. A goal that is
/// missed ends the program with a failure.
@main
struct Core {
  static let limit = 8
  static let rounds = 7

  /// Leaves the main actor, whose executor is slower to wake than the pool, for either side.
  static func main() async { await compare() }

  @concurrent static func compare() async {
    let million = Array(0..<1_000_000)
    let some = Array(0..<100_000)

    let window = Subject("window of child tasks, by hand", count: million.count) {
      _ = await slidingWindow(million, limit: limit) { $0 &+ 1 }
    }
    let stream = Subject("window into a stream, by hand", count: some.count) {
      for await _ in slidingStream(some, limit: limit, { $0 &+ 1 }) {}
    }
    let bare = Subject("AsyncStream, yield and next", count: some.count) {
      for await _ in bareStream(some) {}
    }
    let yielding = Subject("window, bodies that yield", count: some.count) {
      _ = await slidingWindow(some, limit: limit) { number in
        await Task.yield()
        return number &+ 1
      }
    }

    let comparisons = [
      Comparison(
        Subject("array.concurrentMap", count: million.count) {
          _ = await million.concurrentMap(limit: limit) { $0 &+ 1 }
        }, to: window, atMost: 1 / 7),
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
        }, to: window, atMost: 1),
      Comparison(
        Subject("array.concurrentMap, bodies that yield", count: some.count) {
          _ = await some.concurrentMap(limit: limit) { number in
            await Task.yield()
            return number &+ 1
          }
        }, to: yielding, atMost: 1),
      Comparison(
        Subject("array.concurrentResults", count: some.count) {
          for await _ in some.concurrentResults(limit: limit, { $0 &+ 1 }) {}
        }, to: stream, atMost: nil),
      Comparison(
        Subject("array.concurrentResults", count: some.count) {
          for await _ in some.concurrentResults(limit: limit, { $0 &+ 1 }) {}
        }, to: bare, atMost: 1),
      Comparison(
        Subject("array.concurrentResults, completion", count: some.count) {
          for await _ in some.concurrentResults(limit: limit, order: .completion, { $0 &+ 1 }) {}
        }, to: bare, atMost: 1),
      Comparison(
        Subject("range.concurrentResults", count: some.count) {
          for await _ in (0..<some.count).concurrentResults(limit: limit, { $0 &+ 1 }) {}
        }, to: bare, atMost: 1),
      Comparison(
        Subject("range.concurrentResults, readAhead 256", count: some.count) {
          for await _ in (0..<some.count).concurrentResults(limit: limit, readAhead: 256, { $0 &+ 1 }) {}
        }, to: bare, atMost: 1),
      Comparison(
        Subject("async.concurrentResults", count: some.count) {
          for await _ in Numbers(count: some.count).concurrentResults(limit: limit, { $0 &+ 1 }) {}
        }, to: bare, atMost: 1),
    ]
    // A word on the command line picks the subjects that have it in their name.
    let word = CommandLine.arguments.dropFirst().first ?? ""
    await report(comparisons.filter { $0.subject.name.contains(word) }, rounds: rounds)
  }
}

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
