// SPDX-License-Identifier: Apache-2.0

/// Holds whoever passes until a test opens it.
///
///     let gate = Gate()
///     async let results = urls.concurrentMap(limit: 3) { url in
///       await gate.pass()
///       return try await load(url)
///     }
///     // Whatever must be looked at while nothing can end.
///     gate.open()
///     try await print(results)
///
/// A gate opens once and stays open.
public final class Gate: Sendable {
  private let isOpen = Watched(false)

  /// Creates a closed gate.
  public init() {}

  /// Lets everyone pass, now and later.
  ///
  /// Those who wait go on in the order in which they came. Opening an open gate changes nothing.
  ///
  /// - Complexity: O(*w* log *w*) for *w* tasks that wait.
  public func open() {
    isOpen.update { $0 = true }
  }

  /// Waits until the gate is open, deaf to cancellation.
  ///
  /// This is the work that does not notice that it is cancelled. It waits as long as the gate is
  /// closed, even if the test itself is ended by a time limit.
  public func pass() async {
    await isOpen.waitDeaf { $0 }
  }

  /// Waits until the gate is open, or until the task is cancelled.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before it has passed, even if the gate
  ///   is open.
  public func passUnlessCancelled() async throws(CancellationError) {
    guard await isOpen.waitUnlessCancelled(until: { $0 }) else { throw CancellationError() }
  }
}
