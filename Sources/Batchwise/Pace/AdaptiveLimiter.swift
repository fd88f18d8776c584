// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A limiter whose limit is found while it is used.
///
///     let limiter = AdaptiveLimiter(GradientLimit(initial: 10, within: 1...200))
///     let page = try await limiter.withPermit {
///       try await withTimeout(.seconds(5)) { try await load(url) }
///     }
///
/// It measures how long the body takes, without the time for which it waited, and tells the rule.
/// Which errors are a drop, because they say that there was too much, is decided when the limiter
/// is created; all others are ignored. A failure is never taken for a fast success.
public final class AdaptiveLimiter<Limit: AdaptiveLimit>: Sendable {
  /// What an error says about the load.
  public enum Verdict: Sendable, Hashable {
    /// There was too much in flight.
    case dropped
    /// Nothing.
    case ignored
  }

  private let limiter: ConcurrencyLimiter
  private let timeline: Timeline
  private let classify: @Sendable (any Error) -> Verdict
  private let rule: Mutex<Limit>

  /// Creates a limiter.
  ///
  /// - Parameters:
  ///   - rule: What finds the limit.
  ///   - nesting: What becomes of a request from inside one of its own permits.
  ///   - clock: What the time is measured by.
  ///   - classify: What an error says about the load. If nothing is said, ``TimeoutError`` is a
  ///     drop, and any other error is ignored.
  public init(
    _ rule: Limit, nesting: PermitNesting = .shares,
    clock: some Clock<Duration> = ContinuousClock(),
    classify: @escaping @Sendable (any Error) -> Verdict = {
      $0 is TimeoutError ? .dropped : .ignored
    }
  ) {
    limiter = ConcurrencyLimiter(limit: rule.limit, nesting: nesting)
    timeline = Timeline(clock)
    self.classify = classify
    self.rule = Mutex(rule)
  }

  /// Runs a body that holds a permit, and learns from how it ends.
  ///
  /// Order and cancellation are those of ``ConcurrencyLimiter/withPermit(priority:weight:_:)``. A
  /// body that fails in a task that is cancelled is ignored, whatever it throws. The body runs
  /// where the caller runs.
  ///
  /// - Parameters:
  ///   - priority: Where to stand in the order; the priority of the current task by default.
  ///   - body: What to run.
  /// - Returns: What the body returns.
  /// - Throws: What the body throws, `CancellationError`, or ``NestedPermitError``.
  /// - Complexity: O(log *n*), where *n* wait, and what the rule costs, which is told under a lock.
  public func withPermit<Success>(
    priority: TaskPriority? = nil, _ body: () async throws -> Success
  ) async throws -> Success {
    // Told after the permit is given back, so that a limit that rises does not count it twice.
    var sample: LimitSample?
    defer { if let sample { record(sample) } }
    return try await limiter.withPermit(priority: priority) {
      let inFlight = limiter.status.inFlight
      let begin = timeline.now
      do {
        let success = try await body()
        sample = LimitSample(.success(timeline.now - begin), inFlight: inFlight)
        return success
      } catch {
        let isOverload = !Task.isCancelled && classify(error) == .dropped
        sample = LimitSample(isOverload ? .dropped : .ignored, inFlight: inFlight)
        throw error
      }
    }
  }

  /// The limit that was found, and how many are in flight and wait, in one snapshot.
  ///
  /// - Complexity: O(1), under a lock.
  public var status: ConcurrencyLimiter.Status { limiter.status }

  private func record(_ sample: LimitSample) {
    let isMoved = rule.withLock { rule in
      let before = rule.limit
      rule.record(sample)
      return rule.limit != before
    }
    guard isMoved else { return }
    // The rule is asked again inside, so that of two moves at once the later one stays.
    limiter.storage.changeRule { admission in admission.setLimit(self.rule.withLock { $0.limit }) }
  }
}
