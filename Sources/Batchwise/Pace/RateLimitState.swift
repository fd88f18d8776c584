// SPDX-License-Identifier: Apache-2.0

/// Which tokens of a rate limit have been taken, and from when on more can be.
///
/// Times are durations since some moment that is always the same; one that is earlier than the
/// latest counts as the latest. Nothing happens by itself: the state has no clock and no timer.
package struct RateLimitState: Sendable {
  /// Whether tokens could be taken.
  package enum Answer: Sendable, Equatable {
    /// They are taken.
    case taken
    /// Nothing was taken, and nothing can be before that moment.
    case notBefore(Duration)
  }

  /// The limit that is kept.
  package private(set) var limit: RateLimit
  private var bucket: TokenBucket
  /// What counts instead of the bucket, if the limit is a window.
  private var window: SlidingWindow?

  /// Creates a state in which nothing has been taken.
  package init(_ limit: RateLimit) {
    self.limit = limit
    bucket = TokenBucket(limit)
    window = limit.kind == .slidingWindow ? SlidingWindow(limit) : nil
  }

  /// From when on the tokens can be taken if no others are taken before; not before `now`.
  ///
  /// More tokens than the burst can be taken when the whole burst could be, so that those who asked
  /// before the limit was lowered are not stuck.
  ///
  /// - Complexity: O(1) for a bucket. For a window, O(*k*) for *k* moments that have to leave it,
  ///   or have left it since the last taking.
  package func earliest(for tokens: Int = 1, at now: Duration) -> Duration {
    let tokens = min(tokens, limit.burst)
    return window?.earliest(for: tokens, at: now) ?? bucket.earliest(for: tokens, at: now)
  }

  /// Takes tokens if they are there, all or none.
  ///
  /// - Complexity: That of `earliest(for:at:)`.
  package mutating func take(_ tokens: Int = 1, at now: Duration) -> Answer {
    let earliest = earliest(for: tokens, at: now)
    guard earliest <= now else { return .notBefore(earliest) }
    record(tokens, at: now)
    return .taken
  }

  /// Gives tokens back, as if they had not been taken.
  ///
  /// Exact if nothing was taken in between. Otherwise the bucket may have dripped into the room
  /// that they left, and never holds more than its burst.
  ///
  /// - Parameters:
  ///   - tokens: How many.
  ///   - moment: When they were taken.
  /// - Complexity: O(1) for a bucket, and for a window if they were the latest to be taken;
  ///   otherwise O(*n*) for *n* moments.
  package mutating func giveBack(_ tokens: Int = 1, takenAt moment: Duration) {
    if window == nil { bucket.giveBack(tokens) }
    window?.giveBack(tokens, takenAt: moment)
  }

  /// Changes the limit; what was taken stays taken, and counts by the new limit.
  ///
  /// A window that grows longer does not know what had left the shorter one.
  ///
  /// - Complexity: O(1) for a bucket, O(*n*) for *n* moments in a window.
  package mutating func setLimit(_ limit: RateLimit, at now: Duration) {
    guard limit != self.limit else { return }
    let old = self
    self = RateLimitState(limit)
    switch (old.window, limit.kind) {
    case (nil, .tokenBucket): bucket.takeOver(old.bucket, at: now)
    case (nil, .slidingWindow):
      let missing = old.bucket.missing(at: now)
      if missing > 0 { record(missing, at: now) }
    case (let takings?, .tokenBucket): takings.replay(into: &bucket)
    case (var takings?, .slidingWindow):
      takings.setLimit(limit)
      window = takings
    }
  }

  /// How many tokens can be taken now.
  ///
  /// - Complexity: O(1) for a bucket, O(*n*) for *n* moments in a window.
  package func available(at now: Duration) -> Int {
    max(0, limit.burst - (window?.count(at: now) ?? bucket.missing(at: now)))
  }

  private mutating func record(_ tokens: Int, at now: Duration) {
    if window == nil { bucket.record(tokens, at: now) }
    window?.record(tokens, at: now)
  }
}
