// SPDX-License-Identifier: Apache-2.0

/// The bounds a feed keeps.
@usableFromInline
struct FeedLimits: Sendable {
  /// The most elements in flight.
  var inFlight: Int
  /// The most elements that were read and not yet started: at first, and when the work is short.
  var backlog: ClosedRange<Int>
  /// The most elements that were read and whose outcome was not.
  var window = Int.max
  /// The most elements in a block that is filled one by one: in the first, and in a later one.
  var blockSize = 64...1024

  /// For a sequence, which costs little to read on.
  @usableFromInline static func sequence(limit: Int) -> FeedLimits {
    FeedLimits(inFlight: checked(limit), backlog: 64...1024)
  }

  /// For an asynchronous sequence: as many elements wait as are in flight, within reason.
  @usableFromInline static func asyncSequence(limit: Int) -> FeedLimits {
    FeedLimits(inFlight: checked(limit), backlog: min(limit, 128)...128)
  }

  /// For outcomes that are read: at most `limit + readAhead` elements are held, in flight or unread.
  @usableFromInline static func results(limit: Int, readAhead: Int?) -> FeedLimits {
    let limit = checked(limit)
    let readAhead = readAhead ?? limit
    guard readAhead >= 0 else { fatalError("readAhead must not be negative, but is \(readAhead)") }
    let (sum, overflow) = limit.addingReportingOverflow(readAhead)
    return FeedLimits(
      inFlight: limit, backlog: min(limit, 128)...128, window: overflow ? .max : sum,
      blockSize: 64...64)
  }

  /// The limit, if it is one.
  ///
  /// The message must reach the reader of a release build too, which a `precondition` would not do.
  private static func checked(_ limit: Int) -> Int {
    guard limit > 0 else { fatalError("limit must be at least 1, but is \(limit)") }
    return limit
  }
}
