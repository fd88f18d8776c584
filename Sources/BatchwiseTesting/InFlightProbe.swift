// SPDX-License-Identifier: Apache-2.0

/// Counts how many bodies are in flight, and remembers the most there ever were.
///
///     let probe = InFlightProbe()
///     try await urls.concurrentForEach(limit: 3) { url in
///       try await probe.body { try await load(url) }
///     }
///     #expect(probe.peak == 3)
///
/// Compare the peak with `==`: a bound that is merely kept may also be kept by running one at a
/// time. To be sure of the peak, let each body wait until as many have started as there should be.
public final class InFlightProbe: Sendable {
  /// What was counted, at one moment.
  public struct Counts: Sendable, Equatable {
    /// How many bodies have started.
    public var started = 0
    /// How many have ended, whichever way.
    public var ended = 0
    /// The most that were in flight at once.
    public var peak = 0

    /// How many have started and not ended.
    public var inFlight: Int { started - ended }
  }

  private let watched = Watched(Counts())

  /// Creates a probe that has counted nothing.
  public init() {}

  /// What was counted so far, in one snapshot.
  public var counts: Counts { watched.value }

  /// The most bodies that were in flight at once.
  public var peak: Int { counts.peak }

  /// Counts a body from its start to its end, whichever way it ends.
  ///
  /// - Parameter body: What to run; it runs in the caller's isolation.
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws.
  /// - Complexity: A lock at the start and one at the end.
  public func body<Success, Failure: Error>(
    _ body: () async throws(Failure) -> Success
  ) async throws(Failure) -> Success {
    watched.update { counts in
      counts.started += 1
      counts.peak = max(counts.peak, counts.inFlight)
    }
    defer { watched.update { $0.ended += 1 } }
    return try await body()
  }

  /// Waits until this many bodies have started, in all, or until the task is cancelled.
  ///
  /// A task that is cancelled returns at once and without an error, as by ``Watched/wait(until:)``.
  public func waitUntilStarted(_ count: Int) async {
    await watched.wait { $0.started >= count }
  }

  /// Waits until this many bodies have ended, in all, or until the task is cancelled.
  ///
  /// A task that is cancelled returns at once and without an error, as by ``Watched/wait(until:)``.
  public func waitUntilEnded(_ count: Int) async {
    await watched.wait { $0.ended >= count }
  }
}
