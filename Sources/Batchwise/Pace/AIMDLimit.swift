// SPDX-License-Identifier: Apache-2.0

/// A limit that rises by one for each round of successes, and falls by a share at a drop.
///
/// Additive increase, multiplicative decrease, as TCP avoids congestion with it (RFC 5681, section
/// 3.1). It looks at drops alone, so it suits work that says when it is too much, or has a timeout.
/// It rises until something is dropped, and swings around what is possible.
///
/// - It rises only while at least half of it is used: idle time teaches nothing.
/// - What is dropped together counts once.
/// - At its upper bound it stays until something is dropped.
public struct AIMDLimit: AdaptiveLimit {
  private let decrease: Double
  private var moving: MovingLimit

  /// Creates a rule.
  ///
  /// - Parameters:
  ///   - initial: The limit at first, moved within the bounds.
  ///   - bounds: What the limit stays within; less than one traps.
  ///   - decrease: What is left of the limit after a drop, from zero to below one; anything else
  ///     traps.
  public init(initial: Int, within bounds: ClosedRange<Int>, decrease: Double = 0.75) {
    precondition((0..<1).contains(decrease), "a decrease to \(decrease) of the limit")
    self.decrease = decrease
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
    if case .dropped = sample.ending {
      moving.leave(for: moving.value * decrease, inFlight: sample.inFlight)
    } else if sample.inFlight >= limit - limit / 2 {
      moving.move(to: moving.value + 1 / moving.value)
    }
  }
}
