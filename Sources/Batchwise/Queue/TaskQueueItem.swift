// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// An item of a task queue: the door behind which its task waits, its operation, and its result.
///
/// An item needs a task of its own from the start, for only a new task takes over the task-local
/// values of who adds it. But it must not begin. So the item is the executor that its task prefers:
/// it keeps the task's first step until the queue has decided, and passes all later ones on.
///
/// What an operation returns is kept without its type. One class for all queues is compiled once and
/// costs half of one that is generic; only a handle knows the type again.
final class TaskQueueItem: TaskExecutor {
  typealias Operation = @Sendable () async throws -> any Sendable
  typealias Outcome = Result<any Sendable, any Error>

  /// What the queue has decided about an item.
  enum Verdict {
    case starts(SlabID)
    case refused(TaskQueueRefusal)
  }

  private enum Door {
    /// Not decided; the task's first step, once it was handed in. Exit: open.
    case closed(UnownedJob?)
    /// Decided. No exit.
    case open(Verdict)
  }

  private struct State {
    var door = Door.closed(nil)
    /// Nil before it was made and after its end, so that item and task do not keep each other.
    var task: Task<Void, Never>?
    /// Nil once it has been entered or never will be, so that a handle does not keep what it holds.
    var operation: Operation?
    var outcome: Outcome?
    var readers = Tickets<CheckedContinuation<Outcome?, Never>, Outcome?, Void>()
  }

  private let state = Mutex(State())
  let storage: TaskQueueStorage
  /// Where its steps are taken in the end.
  let executor: any TaskExecutor
  let options: TaskQueueItemOptions

  /// Makes the item's task, which does not begin before the queue has decided.
  init(
    _ options: TaskQueueItemOptions, priority: TaskPriority?, storage: TaskQueueStorage,
    operation: @escaping Operation
  ) {
    self.options = options
    self.storage = storage
    executor = storage.executorForItem
    let task = Task(executorPreference: self, priority: priority) { await self.run() }
    state.withLock { state in
      state.task = task
      state.operation = operation
    }
  }

  // MARK: The door

  /// Takes in a step of the item's task, the first of which waits.
  func enqueue(_ step: consuming ExecutorJob) {
    let step = UnownedJob(step)
    let isOpen = state.withLock { state in
      guard case .closed = state.door else { return true }
      state.door = .closed(step)
      return false
    }
    if isOpen { executor.enqueue(step) }
  }

  /// Lets the item's task begin, and learn what was decided.
  func open(_ verdict: Verdict) {
    let step = state.withLock { state -> UnownedJob? in
      guard case .closed(let step) = state.door else { return nil }
      state.door = .open(verdict)
      return step
    }
    if let step { executor.enqueue(step) }
  }

  // MARK: The task

  /// Cancels the item's task.
  func cancel() {
    state.withLock { $0.task }?.cancel()
  }

  /// Raises the priority of the item's task, where the system can.
  func escalate(to priority: TaskPriority) {
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
    state.withLock { $0.task }?.escalatePriority(to: priority)
  }

  // What need not suspend is apart, for each item's task has to find room for all that this one keeps.
  private func run() async {
    guard let (id, operation) = begin() else { return }
    do {
      let value = try await HeldPermit.current.withValue(storage.mark(id), operation: operation)
      end(id, .success(value))
    } catch {
      end(id, .failure(error))
    }
  }

  /// Learns what was decided; nil if the operation is not to be entered.
  private func begin() -> (SlabID, Operation)? {
    let (door, operation) = state.withLock { ($0.door, $0.operation.take()) }
    switch door {
    case .closed: preconditionFailure("an item has begun before it was admitted")
    case .open(.refused(let refusal)):
      storage.tell(.ended(refusal == .cancelled ? .cancelled : .refused), self)
      keep(.failure(refusal.error(name: options.name)))
      return nil
    case .open(.starts(let id)):
      storage.tell(.started, self)
      if let operation, !Task.isCancelled { return (id, operation) }
      // It was cancelled between its admission and this moment.
      end(id, .failure(CancellationError()))
      return nil
    }
  }

  /// Gives the item's place on, and then tells what became of it.
  private func end(_ id: SlabID, _ outcome: Outcome) {
    // From here on it can be late no more.
    let isLate = options.timeout != nil && storage.read { state, _ in state.stopTimeout(of: id) }
    let outcome: Outcome =
      isLate ? .failure(TaskQueueError(code: .timedOut, name: options.name)) : outcome
    let end: TaskQueueOutcome =
      switch outcome {
      case .success: .succeeded
      case .failure(is CancellationError) where Task.isCancelled: .cancelled
      case .failure: .failed
      }
    storage.tell(.ended(end), self)
    storage.note { state, now in state.end(id, end, at: now) }
    keep(outcome)
  }

  // MARK: The outcome

  /// What became of the item, if it is over.
  var outcome: Outcome? { state.withLock { $0.outcome } }

  /// Waits until the item is over; nil if the reader is cancelled first.
  func wait() async -> Outcome? {
    let (outcome, ticket) = state.withLock { state in
      (state.outcome, state.outcome == nil ? state.readers.issue() : nil)
    }
    guard let ticket else { return outcome }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if let turn = state.withLock({ $0.readers.suspend(ticket, continuation) }) {
          continuation.resume(returning: turn)
        }
      }
    } onCancel: {
      state.withLock { $0.readers.decide(ticket, nil) }?.resume(returning: nil)
    }
  }

  private func keep(_ outcome: Outcome) {
    let readers = state.withLock { state in
      state.task = nil
      state.outcome = outcome
      return state.readers.decideAll(outcome)
    }
    for reader in readers { reader.resume(returning: outcome) }
  }
}
