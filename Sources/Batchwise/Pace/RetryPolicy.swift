// SPDX-License-Identifier: Apache-2.0

/// Whether, when and how often a failed attempt is repeated.
///
///     let policy = RetryPolicy(
///       attempts: 5, within: .seconds(60),
///       backoff: .exponential(from: .seconds(1), cap: .seconds(20))
///     ) { error in
///       (error as? HTTPError)?.isTemporary == true ? .retry : .stop
///     }
public struct RetryPolicy: Sendable {
  /// What to do about an error.
  public enum Verdict: Sendable, Hashable {
    /// Give up, and throw it.
    case stop
    /// Try again after the backoff.
    case retry
    /// Try again, but not before this time has passed, as a server asked.
    ///
    /// Such as by `Retry-After` (RFC 9110, section 10.2.3). The backoff is added, so that not all
    /// whom it asked come at the same moment. A negative time counts as zero.
    case retryAfter(Duration)
  }

  /// The most attempts, the first one included.
  public let attempts: Int
  /// The time in which the last attempt has to begin, counted from the call; nil for any.
  public let timeBudget: Duration?
  /// How long to pause.
  public let backoff: Backoff

  private let classify: @Sendable (any Error) -> Verdict

  /// Creates a policy.
  ///
  /// - Parameters:
  ///   - attempts: The most attempts, the first one included; fewer than one traps.
  ///   - timeBudget: The time in which the last attempt has to begin. An attempt that runs is not
  ///     interrupted; `withTimeout` does that.
  ///   - backoff: How long to pause.
  ///   - classify: What to do about an error; all are worth another attempt if nothing is said. It
  ///     is not asked about the last attempt's error, nor when the calling task is cancelled.
  public init(
    attempts: Int, within timeBudget: Duration? = nil, backoff: Backoff,
    classify: @escaping @Sendable (any Error) -> Verdict = { _ in .retry }
  ) {
    precondition(attempts > 0, "\(attempts) attempts: there must be at least one")
    self.attempts = attempts
    self.timeBudget = timeBudget
    self.backoff = backoff
    self.classify = classify
  }

  /// Decides about the next attempt.
  ///
  /// - Parameters:
  ///   - error: What the latest attempt threw.
  ///   - failures: How many attempts have failed, this one included.
  ///   - elapsed: How much time has passed since the first attempt began.
  ///   - generator: Where the backoff's random part comes from.
  /// - Returns: The pause before it, or nil if there is to be none.
  package func pause(
    after error: any Error, failures: Int, elapsed: Duration,
    using generator: inout some RandomNumberGenerator
  ) -> Duration? {
    // A nested request is a mistake in the program, and stays one.
    guard failures < attempts, !(error is NestedPermitError) else { return nil }
    var pause: Duration
    switch classify(error) {
    case .stop: return nil
    case .retry: pause = .zero
    case .retryAfter(let hint): pause = max(hint, .zero)
    }
    pause += backoff.pause(afterFailures: failures, using: &generator)
    if let timeBudget, elapsed + pause >= timeBudget { return nil }
    return pause
  }
}
