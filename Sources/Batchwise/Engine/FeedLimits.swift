// SPDX-License-Identifier: Apache-2.0

/// The bounds a feed keeps.
struct FeedLimits: Sendable {
  /// The most elements in flight.
  var inFlight: Int
  /// The most elements in one block of those that are read one by one.
  var batch: Int
  /// The most blocks that wait for a worker.
  var backlog: Int
  /// The most elements published whose outcome was not yet read.
  var window = Int.max

  /// For a sequence, which is cheap to read on: up to two blocks wait for a worker.
  static func sequence(limit: Int) -> FeedLimits {
    FeedLimits(inFlight: checked(limit), batch: 64, backlog: 2)
  }

  /// For an asynchronous sequence: one element waits for a worker.
  static func asyncSequence(limit: Int) -> FeedLimits {
    FeedLimits(inFlight: checked(limit), batch: 1, backlog: 1)
  }

  /// For outcomes that are read: at most `limit + readAhead` elements are held, in flight or unread.
  static func results(limit: Int, readAhead: Int?) -> FeedLimits {
    let readAhead = readAhead ?? limit
    guard readAhead >= 0 else { fatalError("readAhead must not be negative, but is \(readAhead)") }
    let (sum, overflow) = checked(limit).addingReportingOverflow(readAhead)
    return FeedLimits(inFlight: limit, batch: 1, backlog: 1, window: overflow ? .max : sum)
  }

  /// The limit, if it is one. The message must reach the reader of a release build too, which
  /// `precondition` would not see to.
  private static func checked(_ limit: Int) -> Int {
    guard limit > 0 else { fatalError("limit must be at least 1, but is \(limit)") }
    return limit
  }
}
