// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

extension BoundedDispatchQueue {
  /// What work that calls back calls, once, when it has ended.
  ///
  /// It is an object so that its misuse is noticed: a second call changes nothing and is told, and
  /// if it is let go of without a call, the item fails, its place is given on, and that is told.
  public final class Completion<Value: Sendable>: Sendable {
    private let isCalled = Atomic<Bool>(false)
    private let core: BoundedDispatchCore
    private let end: @Sendable () -> Void
    private let tell: @Sendable (Result<Value, any Error>) -> Void

    init(
      core: BoundedDispatchCore, end: @escaping @Sendable () -> Void,
      tell: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
      self.core = core
      self.end = end
      self.tell = tell
    }

    deinit {
      guard !isCalled.load(ordering: .acquiring) else { return }
      end()
      tell(.failure(core.tellMisuse(.neverCompleted)))
    }

    /// Notes that the work has ended, from any thread.
    ///
    /// The place is given on first. A second call is misuse, which traps unless the queue has an
    /// `onMisuse`.
    ///
    /// - Parameter result: How it ended.
    /// - Complexity: O(log *n*), where *n* wait.
    public func callAsFunction(_ result: Result<Value, any Error>) {
      guard !isCalled.exchange(true, ordering: .acquiringAndReleasing) else {
        _ = core.tellMisuse(.completedTwice)
        return
      }
      end()
      tell(result)
    }
  }
}

extension BoundedDispatchQueue.Completion where Value == Void {
  /// Notes that the work has ended, from any thread.
  ///
  /// - Complexity: O(log *n*), where *n* wait.
  public func callAsFunction() { self(.success(())) }
}
