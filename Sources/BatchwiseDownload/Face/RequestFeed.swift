// SPDX-License-Identifier: Apache-2.0

/// Where a batch's requests come from, one by one.
protocol RequestFeed: Sendable {
  /// Whether the next request is there without waiting.
  var isImmediate: Bool { get }

  /// The next request, or nil at the end; called by one task, one call after the other.
  mutating func next() async throws -> WorkItem?
}

/// Requests of a sequence.
struct SequenceFeed<Requests: Sequence & Sendable>: RequestFeed
where Requests.Element: DownloadRequestConvertible {
  private let requests: Requests
  // Made by the first call of `next()`, and touched by nobody but the one task that makes these calls.
  nonisolated(unsafe) private var iterator: Requests.Iterator?

  init(_ requests: Requests) { self.requests = requests }

  var isImmediate: Bool { true }

  mutating func next() -> WorkItem? {
    if iterator == nil { iterator = requests.makeIterator() }
    return iterator?.next().map { WorkItem($0) }
  }
}

/// Requests of a list that is still growing.
struct AsyncSequenceFeed<Requests: AsyncSequence & Sendable>: RequestFeed
where Requests.Element: DownloadRequestConvertible {
  private let requests: Requests
  // Made by the first call of `next()`, and touched by nobody but the one task that makes these calls.
  nonisolated(unsafe) private var iterator: Requests.AsyncIterator?

  init(_ requests: Requests) { self.requests = requests }

  var isImmediate: Bool { false }

  mutating func next() async throws -> WorkItem? {
    if iterator == nil { iterator = requests.makeAsyncIterator() }
    return try await iterator?.next(isolation: nil).map { WorkItem($0) }
  }
}
