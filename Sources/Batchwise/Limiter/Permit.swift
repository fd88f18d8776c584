// SPDX-License-Identifier: Apache-2.0

/// The right to be in flight under a limiter, until it is released.
///
/// There is one of it: it cannot be copied, only passed on, also to another task. Letting it go out
/// of scope releases it, so it is never lost.
///
/// A permit belongs to no task, so a limiter cannot see that whoever asks again holds it. Prefer
/// `withPermit`, which it can see.
public struct Permit: ~Copyable, Sendable {
  private let storage: LimiterStorage
  private let hold: SlabID

  init(_ hold: SlabID, of storage: LimiterStorage) {
    self.hold = hold
    self.storage = storage
  }

  deinit { storage.release(hold) }

  /// Gives the permit back, which lets those start who can now.
  ///
  /// - Complexity: O(log *n*), where *n* wait.
  public consuming func release() {}
}
