// SPDX-License-Identifier: Apache-2.0

import Batchwise

/// Every verb, in one shape: a body runs for every element, and an error of the body comes out.
///
/// In a search for a first success a body that returns counts as a miss, so that all of them run;
/// in streamed results the first outcome that is a failure is thrown by the reader.
enum Verb: CaseIterable {
  case map, compactMap, forEach, first, resultsInSourceOrder, resultsInCompletionOrder

  /// An element of a search whose body has returned.
  struct Miss: Error {}

  typealias Body = @Sendable (Int) async throws -> Void

  func run(
    _ source: SmallWorld.Source, count: Int, limit: Int, _ body: @escaping Body
  ) async throws {
    switch source {
    case .array: try await run(Array(0..<count), limit: limit, body)
    case .sequence: try await run(LazyNumbers(count: count), limit: limit, body)
    case .asyncSequence: try await run(AsyncNumbers(count: count), limit: limit, body)
    }
  }

  func run<Source: Sequence<Int> & Sendable>(
    _ source: Source, limit: Int, _ body: @escaping Body
  ) async throws {
    switch self {
    case .map: _ = try await source.concurrentMap(limit: limit, body)
    case .compactMap: _ = try await source.concurrentCompactMap(limit: limit) { try await body($0) }
    case .forEach: try await source.concurrentForEach(limit: limit, body)
    case .first:
      try await search { miss in
        try await source.concurrentFirst(limit: limit) { try await miss($0) }
      } of: {
        try await body($0)
      }
    case .resultsInSourceOrder: try await read(source.concurrentResults(limit: limit, body))
    case .resultsInCompletionOrder:
      try await read(source.concurrentResults(limit: limit, order: .completion, body))
    }
  }

  func run<Source: AsyncSequence<Int, Never> & Sendable>(
    _ source: Source, limit: Int, _ body: @escaping Body
  ) async throws {
    switch self {
    case .map: _ = try await source.concurrentMap(limit: limit, body)
    case .compactMap: _ = try await source.concurrentCompactMap(limit: limit) { try await body($0) }
    case .forEach: try await source.concurrentForEach(limit: limit, body)
    case .first:
      try await search { miss in
        try await source.concurrentFirst(limit: limit) { try await miss($0) }
      } of: {
        try await body($0)
      }
    case .resultsInSourceOrder: try await read(source.concurrentResults(limit: limit, body))
    case .resultsInCompletionOrder:
      try await read(source.concurrentResults(limit: limit, order: .completion, body))
    }
  }

  private func search(
    _ first: (@escaping Body) async throws -> Void?, of body: @escaping Body
  ) async throws {
    do {
      _ = try await first { element in
        try await body(element)
        throw Miss()
      }
    } catch is Miss {}
  }

  private func read<Results: AsyncSequence<ConcurrentResult<Void, any Error>, Never>>(
    _ results: Results
  ) async throws {
    for await outcome in results { try outcome.get() }
    try Task.checkCancellation()
  }
}
