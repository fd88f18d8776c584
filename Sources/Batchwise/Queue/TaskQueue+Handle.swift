// SPDX-License-Identifier: Apache-2.0

extension TaskQueue {
  /// An item of a queue, in the hands of who added it.
  ///
  /// Letting go of it changes nothing: the item runs on.
  public struct Handle: Sendable, Identifiable {
    let item: Item
    private let itemID: SlabID

    init(item: Item, id: SlabID) {
      self.item = item
      itemID = id
    }

    /// Tells the item from all others of its queue; later ones have higher numbers.
    public var id: Int { itemID.number }

    /// What the operation returned, when it has.
    ///
    /// The item is raised to the priority of who waits for it, also while it waits itself.
    /// Cancelling the reader ends the reading and not the item.
    ///
    /// - Throws: What the operation threw, `CancellationError` if the item or the reader was
    ///   cancelled, or a ``TaskQueueError``.
    public var value: Success {
      get async throws { try await result.get() }
    }

    /// What became of the item, when it is over.
    ///
    /// - Throws: `CancellationError` if the reader is cancelled first.
    public var result: Result<Success, any Error> {
      get async throws(CancellationError) {
        if let result = item.result.now { return result }
        let priority = Task.currentPriority
        raise(to: priority)
        let result = await withEscalationHandler(since: priority) {
          await item.result.wait()
        } onEscalation: { [self] priority in
          raise(to: priority)
        }
        guard let result else { throw CancellationError() }
        return result
      }
    }

    /// Where the item is, and while it waits, what keeps it from starting.
    public var state: TaskQueueItemState {
      item.storage.read { [itemID] state, now in state.state(of: itemID, at: now) } ?? .ended
    }

    /// Cancels the item; one that has not started never does.
    public func cancel() {
      item.storage.note { [itemID] state, _ in state.cancel(itemID) }
    }

    /// Changes where the item stands in the order; its task is only ever raised.
    public func setPriority(_ priority: TaskPriority) {
      item.job.escalate(to: priority)
      item.storage.note { [itemID] state, _ in
        state.setPriority(Int(priority.rawValue), of: itemID)
      }
    }

    private func raise(to priority: TaskPriority) {
      let isHigher = item.storage.read { [itemID] state, _ in
        state.isBelow(Int(priority.rawValue), itemID)
      }
      if isHigher { setPriority(priority) }
    }
  }

  /// An item's operation, and its result.
  final class Item: Sendable {
    let job: TaskQueueJob
    let storage: TaskQueueStorage
    let result = Promise<Result<Success, any Error>>()
    private let priority: TaskPriority

    /// Makes the item's task, which does not begin before the queue has decided.
    init(
      name: String?, priority: TaskPriority?, storage: TaskQueueStorage,
      operation: @escaping @Sendable () async throws -> Success
    ) {
      self.storage = storage
      self.priority = priority ?? Task.currentPriority
      job = TaskQueueJob(name: name, executor: storage.executor)
      let task = Task(executorPreference: job, priority: priority) { [self] in
        await run(operation)
      }
      job.adopt(task)
    }

    func options(
      key: (any Hashable & Sendable)?, isBarrier: Bool, timeout: Duration?, waitTimeout: Duration?
    ) -> TaskQueueItemOptions {
      TaskQueueItemOptions(
        name: job.name, priority: Int(priority.rawValue), key: key.map { AdmissionKey($0) },
        isBarrier: isBarrier, timeout: timeout, waitTimeout: waitTimeout)
    }

    private func run(_ operation: @Sendable () async throws -> Success) async {
      switch job.verdict {
      case .refused(let refusal):
        storage.tell(.ended(refusal == .cancelled ? .cancelled : .refused), job)
        result.keep(.failure(refusal.error(name: job.name)))
      case .starts(let id):
        storage.tell(.started, job)
        let end = await end(of: operation)
        let outcome = outcome(of: end)
        storage.tell(.ended(outcome), job)
        let isOverdue = storage.note { state, now in state.end(id, outcome, at: now) }
        result.keep(
          isOverdue ? .failure(TaskQueueError(code: .timedOut, name: job.name)) : end)
      }
      job.leave()
    }

    private func end(
      of operation: @Sendable () async throws -> Success
    ) async -> Result<Success, any Error> {
      do {
        // It may have been cancelled between its admission and this moment.
        try Task.checkCancellation()
        return .success(try await operation())
      } catch {
        return .failure(error)
      }
    }

    private func outcome(of end: Result<Success, any Error>) -> TaskQueueOutcome {
      switch end {
      case .success: .succeeded
      case .failure(is CancellationError) where Task.isCancelled: .cancelled
      case .failure: .failed
      }
    }
  }
}
