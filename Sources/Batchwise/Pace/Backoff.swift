// SPDX-License-Identifier: Apache-2.0

/// How long to pause before an attempt is repeated.
///
///     let backoff = Backoff.exponential(from: .milliseconds(200), cap: .seconds(30))
public struct Backoff: Sendable, Hashable {
  /// The random part of a pause.
  public enum Jitter: Sendable, Hashable {
    /// Always the whole pause.
    case none
    /// Any part of the pause, from nothing to all of it, each as likely: those who failed together
    /// do not come back together. Elsewhere this is called full jitter.
    case full
  }

  private let first: Duration
  private let factor: Double
  private let cap: Duration
  private let jitter: Jitter

  /// The same pause each time.
  ///
  /// - Parameters:
  ///   - pause: How long; a negative pause is a programming error and traps.
  ///   - jitter: Its random part.
  /// - Returns: The backoff.
  public static func constant(_ pause: Duration, jitter: Jitter = .full) -> Backoff {
    Backoff(first: pause, factor: 1, cap: pause, jitter: jitter)
  }

  /// A pause that grows from failure to failure until it reaches the cap.
  ///
  /// After failure *n* it is `first` times `factor` to the power of *n* - 1, and never more than
  /// `cap`.
  ///
  /// - Parameters:
  ///   - first: The pause after the first failure; a negative pause is a programming error and
  ///     traps.
  ///   - factor: How many times as long the next pause is; less than one traps.
  ///   - cap: The longest pause.
  ///   - jitter: Its random part, taken after the cap.
  /// - Returns: The backoff.
  public static func exponential(
    from first: Duration, factor: Double = 2, cap: Duration, jitter: Jitter = .full
  ) -> Backoff {
    Backoff(first: first, factor: factor, cap: cap, jitter: jitter)
  }

  private init(first: Duration, factor: Double, cap: Duration, jitter: Jitter) {
    precondition(first >= .zero && cap >= .zero, "a pause of \(first), at most \(cap)")
    precondition(factor >= 1, "a pause that grows by \(factor)")
    self.first = first
    self.factor = factor
    self.cap = cap
    self.jitter = jitter
  }

  /// The pause after so many failures in a row.
  ///
  /// - Parameters:
  ///   - failures: How many; at least one. Any number is fine, for the cap is never exceeded.
  ///   - generator: Where the random part comes from.
  /// - Returns: A pause between zero and the cap.
  /// - Complexity: O(1).
  public func pause(
    afterFailures failures: Int, using generator: inout some RandomNumberGenerator
  ) -> Duration {
    let whole = wholePause(afterFailures: failures)
    switch jitter {
    case .none: return whole
    case .full:
      return Duration(attoseconds: .random(in: 0...whole.attoseconds, using: &generator))
    }
  }

  private func wholePause(afterFailures failures: Int) -> Duration {
    guard first > .zero, cap > first else { return min(first, cap) }
    // In floating point the growth ends at infinity instead of trapping.
    let growth = power(factor, max(failures, 1) - 1)
    return growth < cap / first ? first * growth : cap
  }
}

/// The base, multiplied with itself so many times.
private func power(_ base: Double, _ exponent: Int) -> Double {
  var (result, square, rest) = (1.0, base, exponent)
  while rest > 0 {
    if !rest.isMultiple(of: 2) { result *= square }
    square *= square
    rest /= 2
  }
  return result
}
