// SPDX-License-Identifier: Apache-2.0

/// A rule that finds out how much may be in flight, from how the work fares.
///
/// A value that is told of each ending and asked for the limit; ``AdaptiveLimiter`` does both.
/// Write your own, or take ``AIMDLimit`` or ``GradientLimit``.
public protocol AdaptiveLimit: Sendable {
  /// The most that may be in flight now; at least one.
  var limit: Int { get }

  /// Learns from the ending of something that was in flight.
  ///
  /// - Parameter sample: How it ended.
  mutating func record(_ sample: LimitSample)
}

/// How something that was in flight has ended.
public struct LimitSample: Sendable, Hashable {
  /// What an ending says about the limit.
  public enum Ending: Sendable, Hashable {
    /// It was done, in so much time.
    case success(Duration)
    /// There was too much: a timeout, a refusal for overload. How long that took says nothing.
    case dropped
    /// It says nothing: a cancellation, a mistake of the caller's.
    case ignored
  }

  /// How it ended.
  public var ending: Ending
  /// How much was in flight when it began, itself included.
  public var inFlight: Int

  /// Describes an ending.
  ///
  /// - Parameters:
  ///   - ending: How it ended.
  ///   - inFlight: How much was in flight when it began, itself included.
  public init(_ ending: Ending, inFlight: Int) {
    self.ending = ending
    self.inFlight = inFlight
  }
}

/// A limit that moves within its bounds, and falls once for all that go wrong together.
struct MovingLimit: Sendable {
  private(set) var value: Double
  let bounds: ClosedRange<Int>
  /// How many endings are still to come of what began under a limit that has been left since.
  private var stale = 0

  init(_ initial: Int, within bounds: ClosedRange<Int>) {
    precondition(bounds.lowerBound >= 1, "a limit of \(bounds.lowerBound): it must be at least one")
    self.bounds = bounds
    value = Double(min(max(initial, bounds.lowerBound), bounds.upperBound))
  }

  var limit: Int { Int(exactly: value.rounded(.down)) ?? bounds.upperBound }

  /// Whether an ending is of what began under this limit; to be asked once for each.
  mutating func isFresh() -> Bool {
    if stale == 0 { return true }
    stale -= 1
    return false
  }

  /// Moves the limit, within its bounds.
  mutating func move(to value: Double) {
    self.value = min(max(value, Double(bounds.lowerBound)), Double(bounds.upperBound))
  }

  /// Moves the limit, and learns nothing from what is in flight under the old one.
  mutating func leave(for value: Double, inFlight: Int) {
    stale = min(max(inFlight - 1, 0), limit)
    move(to: value)
  }
}
