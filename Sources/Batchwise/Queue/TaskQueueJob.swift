// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// An item as its queue sees it: the door behind which its task waits, and a way to cancel it.
///
/// An item needs a task of its own from the start, for only a new task takes over the task-local
/// values of who adds it. But it must not begin. So the job is the executor that the task prefers:
/// it keeps the task's first step until the queue has decided, and passes all later ones on.
final class TaskQueueJob: TaskExecutor {
  /// What the queue has decided about an item.
  enum Verdict {
    case starts(SlabID)
    case refused(TaskQueueRefusal)
  }

  private enum Phase {
    /// Not decided; the task's first step, once it was handed in. Exit: open.
    case closed(UnownedJob?)
    /// Decided. No exit.
    case open(Verdict)
  }

  private struct State {
    var phase = Phase.closed(nil)
    /// Nil before it was made and after its end, so that job and task do not keep each other.
    var task: Task<Void, Never>?
  }

  private let state = Mutex(State())
  private let executor: any TaskExecutor

  /// The item's name, if it has one.
  let name: String?

  init(name: String?, executor: any TaskExecutor) {
    self.name = name
    self.executor = executor
  }

  /// Takes in a step of the item's task, the first of which waits.
  func enqueue(_ step: consuming ExecutorJob) {
    let step = UnownedJob(step)
    let isOpen = state.withLock { state in
      guard case .closed = state.phase else { return true }
      state.phase = .closed(step)
      return false
    }
    if isOpen { executor.enqueue(step) }
  }

  /// Notes the item's task, which has been made and has not begun.
  func adopt(_ task: Task<Void, Never>) {
    state.withLock { $0.task = task }
  }

  /// Lets the item's task begin, and learn what was decided.
  func open(_ verdict: Verdict) {
    let step = state.withLock { state -> UnownedJob? in
      guard case .closed(let step) = state.phase else { return nil }
      state.phase = .open(verdict)
      return step
    }
    if let step { executor.enqueue(step) }
  }

  /// What was decided; only the item's task asks, and it begins when that has happened.
  var verdict: Verdict {
    state.withLock { state in
      guard case .open(let verdict) = state.phase else {
        preconditionFailure("an item has begun before it was admitted")
      }
      return verdict
    }
  }

  /// Cancels the item's task.
  func cancel() {
    state.withLock { $0.task }?.cancel()
  }

  /// Raises the priority of the item's task, where the system can.
  func escalate(to priority: TaskPriority) {
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
    state.withLock { $0.task }?.escalatePriority(to: priority)
  }

  /// Lets go of the task, which ends.
  func leave() {
    _ = state.withLock { $0.task.take() }
  }
}
