// SPDX-License-Identifier: Apache-2.0

import Batchwise
import Testing

@Suite("A limit that is none", .timeLimit(.minutes(1)))
struct LimitTests {
  @Test("traps where it is given, and the message has its value")
  func traps() async throws {
    let zero = try await #require(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = await [1].concurrentMap(limit: 0) { $0 }
    }
    #expect(text(zero).contains("limit must be at least 1, but is 0"))

    let negative = try await #require(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      await [Int]().concurrentForEach(limit: -3) { _ in }
    }
    #expect(text(negative).contains("limit must be at least 1, but is -3"))

    let stream = try await #require(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = await AsyncNumbers(count: 0).concurrentMap(limit: 0) { $0 }
    }
    #expect(text(stream).contains("limit must be at least 1, but is 0"))

    let compact = try await #require(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = await [1].concurrentCompactMap(limit: 0) { Optional($0) }
    }
    #expect(text(compact).contains("limit must be at least 1, but is 0"))

    let first = try await #require(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = await AsyncNumbers(count: 0).concurrentFirst(limit: -1) { $0 }
    }
    #expect(text(first).contains("limit must be at least 1, but is -1"))

    let results = try await #require(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = [1].concurrentResults(limit: Int.min) { $0 }
    }
    #expect(text(results).contains("limit must be at least 1, but is \(Int.min)"))

    let readAhead = try await #require(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = [1].concurrentResults(limit: 1, readAhead: -1) { $0 }
    }
    #expect(text(readAhead).contains("readAhead must not be negative, but is -1"))
  }

  private func text(_ result: ExitTest.Result) -> String {
    String(decoding: result.standardErrorContent, as: UTF8.self)
  }
}
