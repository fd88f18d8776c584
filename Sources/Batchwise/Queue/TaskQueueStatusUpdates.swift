// SPDX-License-Identifier: Apache-2.0

/// The status of a task queue whenever it has changed, from ``TaskQueue/statusUpdates``.
public struct TaskQueueStatusUpdates: AsyncSequence, Sendable {
  let storage: TaskQueueStorage

  /// Begins to look.
  public func makeAsyncIterator() -> Iterator { Iterator(storage: storage) }

  /// One reader, which remembers only what it has seen last.
  public struct Iterator: AsyncIteratorProtocol {
    let storage: TaskQueueStorage
    private var version = -1
    private var isOver = false

    init(storage: TaskQueueStorage) { self.storage = storage }

    /// The newest status, once something has changed; nil at the end, and when the reader is
    /// cancelled.
    public mutating func next() async -> TaskQueueStatus? {
      await next(isolation: #isolation)
    }

    /// The newest status, once something has changed; nil at the end, and when the reader is
    /// cancelled.
    public mutating func next(isolation: isolated (any Actor)?) async -> TaskQueueStatus? {
      guard !isOver else { return nil }
      do throws(CancellationError) {
        try await storage.wait(for: .change(since: version))
      } catch {
        isOver = true
        return nil
      }
      let (status, version, isOver) = storage.read { state, now in
        (state.status(at: now), state.version, state.isOver)
      }
      self.version = version
      self.isOver = isOver
      return status
    }
  }
}
