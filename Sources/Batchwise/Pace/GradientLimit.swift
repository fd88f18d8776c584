// SPDX-License-Identifier: Apache-2.0

/// A limit that falls when the work becomes slower than it is without a queue, and rises until
/// then.
///
/// It finds the limit before anything has to be dropped. The time that is normal is the mean of the
/// fastest round, a round being as many successes as the limit. The limit is multiplied with how
/// much of the time now is normal, and gets its square root on top, as room to rise into.
///
/// - At first, and from time to time, the limit is halved for a round, and what is normal is found
///   out anew: work that has become slower for good is then not taken for a queue. If that makes
///   the work twice as fast, nearly all of it was queue, and the limit stays halved and is halved
///   again.
/// - It rises only while at least half of it is used: idle time teaches nothing.
/// - A drop takes a quarter away, and what is dropped together counts once.
public struct GradientLimit: AdaptiveLimit {
  private enum Phase {
    case normal
    /// The limit is halved; what it was comes back after the round, unless `mean` was all queue.
    case probing(before: Double, mean: Duration)
  }

  /// The successes since the limit was last thought about.
  private struct Round {
    var count = 0
    var time = Duration.zero
    var mostInFlight = 0

    var mean: Duration { time / max(count, 1) }
  }

  private let tolerance: Double
  private let roundsBetweenProbes: Int
  private var moving: MovingLimit
  private var phase = Phase.normal
  private var round = Round()
  private var rounds: Int
  /// The mean of the fastest round since the last probe.
  private var normal: Duration?

  /// Creates a rule.
  ///
  /// - Parameters:
  ///   - initial: The limit at first, moved within the bounds.
  ///   - bounds: What the limit stays within; less than one traps.
  ///   - tolerance: How many times as long as normal work may take before the limit falls; less
  ///     than one traps.
  ///   - roundsBetweenProbes: After how many rounds what is normal is found out anew; fewer than
  ///     one traps.
  public init(
    initial: Int, within bounds: ClosedRange<Int>, tolerance: Double = 1.2,
    roundsBetweenProbes: Int = 50
  ) {
    precondition(tolerance >= 1, "a tolerance of \(tolerance)")
    precondition(roundsBetweenProbes > 0, "\(roundsBetweenProbes) rounds between probes")
    self.tolerance = tolerance
    self.roundsBetweenProbes = roundsBetweenProbes
    rounds = roundsBetweenProbes - 1
    moving = MovingLimit(initial, within: bounds)
  }

  /// The most that may be in flight now.
  public var limit: Int { moving.limit }

  /// Learns from an ending.
  ///
  /// - Complexity: O(1).
  public mutating func record(_ sample: LimitSample) {
    if case .ignored = sample.ending { return }
    guard moving.isFresh() else { return }
    guard case .success(let time) = sample.ending else {
      phase = .normal
      round = Round()
      moving.leave(for: moving.value * 0.75, inFlight: sample.inFlight)
      return
    }
    round.count += 1
    round.time += time
    round.mostInFlight = max(round.mostInFlight, sample.inFlight)
    if round.count >= limit { endRound(inFlight: sample.inFlight) }
  }

  private mutating func endRound(inFlight: Int) {
    defer { round = Round() }
    let mean = round.mean
    if case .probing(let before, let slowMean) = phase {
      normal = mean
      if mean < slowMean * 0.55 { return probe(mean, inFlight: inFlight) }
      phase = .normal
      rounds = 0
      moving.leave(for: before, inFlight: inFlight)
      return
    }
    let normal = min(normal ?? mean, mean)
    self.normal = normal
    guard round.mostInFlight >= limit - limit / 2 else { return }
    rounds += 1
    if rounds >= roundsBetweenProbes { return probe(mean, inFlight: inFlight) }
    let share = mean > .zero ? min(1, max(0.5, tolerance * (normal / mean))) : 1
    moving.move(to: moving.value * share + moving.value.squareRoot())
  }

  private mutating func probe(_ mean: Duration, inFlight: Int) {
    phase = .probing(before: moving.value, mean: mean)
    moving.leave(for: moving.value / 2, inFlight: inFlight)
  }
}
