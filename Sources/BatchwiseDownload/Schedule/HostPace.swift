// SPDX-License-Identifier: Apache-2.0

internal import Batchwise

/// How fast one host wants to be asked, as far as its answers tell.
///
/// A host that refuses because it is too much is left alone: for as long as it asks, or else for a
/// second, and for twice as long each time it refuses again. It then gets half of what it got before,
/// and more again with every round of good answers.
struct HostPace {
  /// The longest pause for a host that does not say for how long.
  static let longest = Duration.seconds(60)
  private static let shortest = Duration.seconds(1)
  /// After so many times the last pause without a refusal, all is forgiven.
  private static let forgiving = 30

  /// How many may be in flight; nil while the host has refused nothing.
  private var rule: AIMDLimit?
  /// Until when it is left alone; in the past if it is not.
  private(set) var pausedUntil = Duration.zero
  private var pausedSince = Duration.zero
  /// The last pause that it did not ask for itself.
  private var pause = Duration.zero

  /// The most in flight that the host can bear, if the most at all is so many.
  func limit(atMost most: Int) -> Int { rule.map { min($0.limit, most) } ?? most }

  /// Whether it is left alone now.
  func isPaused(at now: Duration) -> Bool { now < pausedUntil }

  /// Whether nothing has to be remembered of it.
  func isForgiven(at now: Duration) -> Bool {
    rule == nil || now - pausedUntil >= pause * Self.forgiving
  }

  /// Notes that it has refused something.
  ///
  /// - Parameters:
  ///   - hint: For how long it asks to be left alone.
  ///   - start: When the refused request began. What began before the pause tells nothing new.
  ///   - now: When it refused.
  ///   - inFlight: How many were in flight to it.
  ///   - limit: The most in flight to any host.
  ///   - generator: Where the random part of the pause comes from.
  /// - Returns: How long it is left alone from now on.
  mutating func refused(
    _ hint: Duration?, of start: Duration, at now: Duration, inFlight: Int, limit: Int,
    using generator: inout some RandomNumberGenerator
  ) -> Duration {
    let isNews = start >= pausedSince && now >= pausedUntil
    if isNews {
      if isForgiven(at: now) { pause = .zero }
      pause = pause == .zero ? Self.shortest : min(pause * 2, Self.longest)
      pausedSince = now
      var rule = self.rule ?? AIMDLimit(initial: limit, within: 1...limit, decrease: 0.5)
      rule.record(LimitSample(.dropped, inFlight: inFlight))
      self.rule = rule
    }
    guard isNews || hint != nil else { return pausedUntil - now }
    // Its own wish is never undercut, and a tenth comes on top, so that not all come back at once.
    let whole = hint ?? pause
    let part = Double.random(in: hint == nil ? 0.9...1.1 : 1...1.1, using: &generator)
    pausedUntil = max(pausedUntil, now + max(whole, whole * part))
    return pausedUntil - now
  }

  /// Notes a good answer.
  mutating func answered(at now: Duration, inFlight: Int) {
    guard rule != nil else { return }
    if isForgiven(at: now) {
      self = HostPace()
    } else {
      rule?.record(LimitSample(.success(.zero), inFlight: inFlight))
    }
  }
}
