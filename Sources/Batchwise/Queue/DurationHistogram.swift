// SPDX-License-Identifier: Apache-2.0

/// How durations were spread, in a fixed amount of memory.
///
/// Each power of two of nanoseconds is cut into eight parts, so a percentile is right to one part in
/// sixteen.
struct DurationHistogram {
  private static let parts = 8
  /// How many durations fell into each part.
  private var counts: [Int] = []
  private var maximum = Duration.zero
  private var total = 0

  /// Takes in a duration.
  ///
  /// - Complexity: O(1).
  mutating func record(_ duration: Duration) {
    // Only those who record need the memory.
    if counts.isEmpty { counts = Array(repeating: 0, count: Int.bitWidth * Self.parts) }
    let nanoseconds = Int(max(duration, .zero) / .nanoseconds(1))
    counts[Self.part(of: nanoseconds)] += 1
    maximum = max(maximum, duration)
    total += 1
  }

  /// What was recorded, in a few numbers.
  var summary: DurationSummary {
    DurationSummary(
      count: total, median: percentile(50), ninetieth: percentile(90),
      ninetyNinth: percentile(99), maximum: maximum)
  }

  private func percentile(_ percent: Int) -> Duration {
    var rest = (total * percent + 99) / 100
    for (part, count) in counts.enumerated() {
      rest -= count
      if rest <= 0 { return min(maximum, .nanoseconds(Self.middle(of: part))) }
    }
    return maximum
  }

  private static func part(of nanoseconds: Int) -> Int {
    guard nanoseconds >= parts else { return nanoseconds }
    let power = Int.bitWidth - 1 - nanoseconds.leadingZeroBitCount
    return (power - 2) * parts + (nanoseconds >> (power - 3)) % parts
  }

  private static func middle(of part: Int) -> Int {
    guard part >= parts else { return part }
    let shift = part / parts - 1
    return (part % parts + parts) << shift + (1 << shift) / 2
  }
}

/// How durations were spread.
///
/// A percentile is right to one part in sixteen, the maximum is exact.
public struct DurationSummary: Sendable, Hashable {
  /// How many durations there were.
  public var count: Int
  /// Half of them were no longer.
  public var median: Duration
  /// Ninety in a hundred were no longer.
  public var ninetieth: Duration
  /// Ninety-nine in a hundred were no longer.
  public var ninetyNinth: Duration
  /// None was longer.
  public var maximum: Duration
}
