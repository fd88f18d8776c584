// SPDX-License-Identifier: Apache-2.0

extension TaskQueue {
  /// An item of a queue, in the hands of who added it.
  ///
  /// Letting go of it changes nothing: the item runs on.
  public struct Handle: Sendable, Identifiable {
    let item: TaskQueueItem
    private let itemID: SlabID

    init(item: TaskQueueItem, id: SlabID) {
      self.item = item
      itemID = id
    }

    /// Tells the item from all others of its queue; later ones have higher numbers.
    public var id: Int { item.options.number }

    /// What the operation returned, when it has.
    ///
    /// The item is raised to the priority of who waits for it, also while it waits itself.
    /// Cancelling the reader ends the reading and not the item. A reader that is itself an item of
    /// the queue lends its place until the item it waits for is over, so it never waits for itself.
    ///
    /// - Throws: What the operation threw, `CancellationError` if the item or the reader was
    ///   cancelled, or a ``TaskQueueError``.
    public var value: Success {
      get async throws { try await result.get() }
    }

    /// What became of the item, when it is over.
    ///
    /// As ``value``, with the item's failure as a value, so that the reader's own cancellation is
    /// told from it.
    ///
    /// - Throws: `CancellationError` if the reader is cancelled first.
    public var result: Result<Success, any Error> {
      get async throws(CancellationError) {
        guard let outcome = await outcome() else { throw CancellationError() }
        return outcome.map { value in
          guard let value = value as? Success else {
            preconditionFailure("an operation has returned \(type(of: value))")
          }
          return value
        }
      }
    }

    /// Where the item is, and while it waits, what keeps it from starting.
    ///
    /// - Complexity: O(1), under a lock.
    public var state: TaskQueueItemState {
      item.storage.read { [itemID] state, now in state.state(of: itemID, at: now) } ?? .ended
    }

    /// Cancels the item; one that has not started never does.
    ///
    /// One in flight is cancelled cooperatively, and how its operation ends is how it ends. An item
    /// that is over stays as it is.
    ///
    /// - Complexity: O(log *n*), where *n* wait; O(*n*) for a barrier that waits.
    public func cancel() {
      item.storage.note { [itemID] state, _ in state.cancel(itemID) }
    }

    /// Changes where the item stands in the order; its task is only ever raised.
    ///
    /// - Parameter priority: The new priority, among equals of which it keeps its age.
    /// - Complexity: O(log *n*), where *n* wait.
    public func setPriority(_ priority: TaskPriority) {
      item.escalate(to: priority)
      item.storage.note { [itemID] state, _ in
        state.setPriority(Int(priority.rawValue), of: itemID)
      }
    }

    private func outcome() async -> TaskQueueItem.Outcome? {
      if let outcome = item.outcome { return outcome }
      let priority = Task.currentPriority
      raise(to: priority)
      return await item.storage.whileLendingPlace(for: itemID) {
        await withEscalationHandler(since: priority) {
          await item.wait()
        } onEscalation: { [self] priority in
          raise(to: priority)
        }
      }
    }

    private func raise(to priority: TaskPriority) {
      let isHigher = item.storage.read { [itemID] state, _ in
        state.isBelow(Int(priority.rawValue), itemID)
      }
      if isHigher { setPriority(priority) }
    }
  }
}
