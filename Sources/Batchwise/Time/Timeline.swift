// SPDX-License-Identifier: Apache-2.0

/// A clock without its type: time is a duration that has passed since the timeline was made.
package struct Timeline: Sendable {
  private let readNow: @Sendable () -> Duration
  private let sleepUntil: @Sendable (Duration) async throws -> Void

  /// Begins to count now.
  package init(_ clock: some Clock<Duration>) {
    let origin = clock.now
    readNow = { origin.duration(to: clock.now) }
    sleepUntil = { try await clock.sleep(until: origin.advanced(by: $0), tolerance: nil) }
  }

  /// How long ago the timeline was made.
  package var now: Duration { readNow() }

  /// Sleeps until the moment, but for no more than a century.
  ///
  /// - Throws: What the clock throws, which is `CancellationError` if the task is cancelled.
  package func sleep(until moment: Duration) async throws {
    try await sleepUntil(min(moment, now + .century))
  }
}

extension Duration {
  /// Nothing is waited for longer: some clocks cannot count much further, and no sum of two overflows.
  static let century = Duration.seconds(100 * 365 * 86_400)
}
