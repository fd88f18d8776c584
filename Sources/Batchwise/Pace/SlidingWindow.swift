// SPDX-License-Identifier: Apache-2.0

/// A window that slides along, kept as what was taken in it.
struct SlidingWindow: Sendable {
  /// Tokens that were taken at one moment.
  struct Taking: Sendable {
    let moment: Duration
    var tokens: Int
  }

  private var limit: Int
  private var period: Duration
  /// The oldest first; a slice, so that dropping the oldest moves nothing.
  private(set) var takings: ArraySlice<Taking> = []
  /// How many tokens are in `takings`.
  private var total = 0

  init(_ limit: RateLimit) {
    self.limit = limit.tokens
    period = limit.period
  }

  /// A taking is out of the window when the whole period has passed since: windows are half-open.
  func earliest(for tokens: Int, at now: Duration) -> Duration {
    var earliest = now
    var left = total
    for taking in takings {
      if left + tokens <= limit { break }
      left -= taking.tokens
      earliest = max(earliest, taking.moment + period)
    }
    return earliest
  }

  func count(at now: Duration) -> Int {
    takings.reduce(0) { $1.moment + period > now ? $0 + $1.tokens : $0 }
  }

  mutating func record(_ tokens: Int, at now: Duration) {
    while let oldest = takings.first, oldest.moment + period <= now {
      total -= oldest.tokens
      takings.removeFirst()
    }
    total += tokens
    if let last = takings.indices.last, takings[last].moment >= now {
      takings[last].tokens += tokens
    } else {
      takings.append(Taking(moment: now, tokens: tokens))
    }
  }

  mutating func giveBack(_ tokens: Int, takenAt moment: Duration) {
    guard let index = takings.lastIndex(where: { $0.moment == moment }) else { return }
    let given = min(tokens, takings[index].tokens)
    total -= given
    takings[index].tokens -= given
    if takings[index].tokens == 0 { takings.remove(at: index) }
  }

  /// Keeps what was taken, and counts it by another limit from now on.
  mutating func setLimit(_ limit: RateLimit) {
    self.limit = limit.tokens
    period = limit.period
  }

  /// Enters what was taken into a bucket, at the moments at which it was taken.
  func replay(into bucket: inout TokenBucket) {
    for taking in takings { bucket.record(taking.tokens, at: taking.moment) }
  }
}
