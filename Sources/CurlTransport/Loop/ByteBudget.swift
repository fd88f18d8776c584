// SPDX-License-Identifier: Apache-2.0

/// How many bytes may be read: a token bucket that may go into debt, since bytes are counted when
/// they are there.
///
/// It is kept as the time at which everything read so far will have been paid for. So nothing has
/// to be counted up while time goes by, and nothing is lost to rounding. Times are those of the
/// loop's clock.
package struct ByteBudget: Sendable {
  /// Bytes a second.
  package let rate: Int

  private var paid: Duration

  /// For how long unused bytes are kept: what a loop that was held up may catch up on.
  package static let memory = Duration.milliseconds(50)

  /// Starts with nothing used and nothing owed.
  package init(rate: Int, at now: Duration) {
    self.rate = rate
    paid = now
  }

  /// Counts bytes that have been read.
  package mutating func spend(_ bytes: Int, at now: Duration) {
    paid = max(paid, now - Self.memory) + .seconds(bytes) / rate
  }

  /// How long nothing more may be read; nothing if it may be at once.
  package func debt(at now: Duration) -> Duration? {
    paid > now ? paid - now : nil
  }

  /// How large a buffer fits a rate: what is read at once is owed for a two-hundredth of a second, as
  /// far as libcurl's buffers can be made so small.
  package func buffer(within range: ClosedRange<Int>) -> Int {
    min(max(rate / 200, range.lowerBound), range.upperBound)
  }
}
