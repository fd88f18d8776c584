// SPDX-License-Identifier: Apache-2.0

/// How many things may start in a length of time.
///
///     let rate = RateLimit.tokenBucket(100, per: .seconds(1), burst: 20)
///
/// What is counted are tokens, mostly one for each start. A value without a clock: `RateLimiter`
/// waits by it. More than 2³¹ tokens count as so many, and more than a century as one.
public struct RateLimit: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    case tokenBucket
    case slidingWindow
  }

  package let kind: Kind
  /// The tokens of a length of time.
  package let tokens: Int
  /// The length of time.
  package let period: Duration
  /// The most tokens that can be taken at once.
  package let burst: Int

  /// A bucket that tokens drip into, evenly, until it is full.
  ///
  /// It is full at first. What was not taken in quiet times is there for a burst, and in any length
  /// of time at most `burst` tokens more are taken than the rate allows. It remembers one moment,
  /// however large it is, as the virtual scheduling algorithm of ITU-T I.371 does.
  ///
  /// - Parameters:
  ///   - tokens: How many tokens drip in during `period`; fewer than one is a programming error and
  ///     traps.
  ///   - period: The length of time; one that is not positive is a programming error and traps.
  ///   - burst: How many tokens the bucket holds; nil for `tokens`. Fewer than one traps.
  /// - Returns: The limit.
  public static func tokenBucket(
    _ tokens: Int, per period: Duration, burst: Int? = nil
  ) -> RateLimit {
    RateLimit(kind: .tokenBucket, tokens: tokens, period: period, burst: burst ?? tokens)
  }

  /// A window that slides along, in which never more than the tokens are taken, wherever it begins.
  ///
  /// Strict: in *every* half-open stretch of time as long as `period`, at most `tokens` tokens are
  /// taken. It remembers up to `tokens` moments.
  ///
  /// - Parameters:
  ///   - tokens: The most tokens in the window; fewer than one is a programming error and traps.
  ///   - period: The length of the window; one that is not positive is a programming error and
  ///     traps.
  /// - Returns: The limit.
  public static func slidingWindow(_ tokens: Int, per period: Duration) -> RateLimit {
    RateLimit(kind: .slidingWindow, tokens: tokens, period: period, burst: tokens)
  }

  private init(kind: Kind, tokens: Int, period: Duration, burst: Int) {
    precondition(tokens > 0, "a rate of \(tokens) tokens: it must be at least one")
    precondition(period > .zero, "a rate per \(period): the time must be positive")
    precondition(burst > 0, "a burst of \(burst) tokens: it must be at least one")
    self.kind = kind
    // So that the times of a whole burst can be added up; nobody can tell more from no limit.
    self.tokens = min(tokens, 1 << 31)
    self.period = min(period, .century)
    self.burst = min(burst, 1 << 31)
  }
}
