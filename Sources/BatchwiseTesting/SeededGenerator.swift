// SPDX-License-Identifier: Apache-2.0

/// Random numbers that come again with the same seed (SplitMix64).
///
///     var generator = SeededGenerator(seed: 7)
///     let limit = Int.random(in: 1...8, using: &generator)
///
/// A test that prints the seed with what it found can find it again. The series of a seed is the
/// same on every machine and stays so. Not for secrets.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Begins the series that belongs to the seed.
  public init(seed: UInt64) { state = seed }

  /// The next number of the series.
  ///
  /// - Complexity: O(1), without an allocation.
  public mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}
