// SPDX-License-Identifier: Apache-2.0

/// A bucket that tokens drip into, kept as the one moment at which it would be full.
///
/// Every token taken puts that moment off by the time in which one drips.
struct TokenBucket: Sendable {
  /// In how much time a token drips.
  private let interval: Duration
  private let burst: Int
  private var fullAt = Duration.zero

  init(_ limit: RateLimit) {
    interval = limit.period / limit.tokens
    burst = limit.burst
  }

  func earliest(for tokens: Int, at now: Duration) -> Duration {
    max(now, fullAt - interval * (burst - tokens))
  }

  /// How many tokens are missing, counting those that have begun to drip.
  func missing(at now: Duration) -> Int {
    guard fullAt > now else { return 0 }
    guard interval > .zero else { return 0 }
    let (whole, rest) = (fullAt - now).attoseconds.quotientAndRemainder(
      dividingBy: interval.attoseconds)
    return Int(clamping: rest == 0 ? whole : whole + 1)
  }

  mutating func record(_ tokens: Int, at now: Duration) {
    fullAt = max(fullAt, now) + interval * tokens
  }

  mutating func giveBack(_ tokens: Int) {
    fullAt -= interval * tokens
  }

  /// Takes over what is missing in another bucket, to the fraction of a token.
  ///
  /// Whole tokens would not do: whoever changes a limit more often than one drips would stop the
  /// dripping.
  mutating func takeOver(_ other: TokenBucket, at now: Duration) {
    guard other.fullAt > now, other.interval > .zero else { return }
    let missing = other.fullAt - now
    fullAt = now + (interval == other.interval ? missing : interval * (missing / other.interval))
  }
}
