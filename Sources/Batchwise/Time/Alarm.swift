// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Calls an action at each of any number of deadlines, with one task that sleeps for all of them.
///
/// A sleep for each deadline would be dear: on Linux, one that is cancelled keeps most of a
/// kilobyte until its time has come, and most timeouts are set for nothing.
///
/// Actions are called one after the other, by the task that slept, with no lock held. They must be
/// quick. An alarm that nobody holds any more forgets its deadlines and ends its sleep.
package final class Alarm: Sendable {
  private typealias State = AlarmState<@Sendable () -> Void>

  /// Finds a deadline again.
  package typealias ID = AlarmState<@Sendable () -> Void>.ID

  private struct Guarded {
    var state = State()
    /// The tasks that sleep, by their sleepers' numbers.
    var tasks: [Int: Task<Void, Never>] = [:]
    /// Where the latest sleep was begun, for events that come from outside of all tasks.
    var executor: (any TaskExecutor)?
  }

  private let timeline: Timeline
  private let executor: (any TaskExecutor)?
  private let guarded = Mutex(Guarded())

  /// Everybody's, so it sleeps where nobody in particular works.
  private static let continuous = Alarm(
    Timeline(ContinuousClock()), executor: globalConcurrentExecutor)

  /// The alarm for a clock: one for everybody who uses the continuous clock, and a new one for any
  /// other.
  package static func shared(for clock: some Clock<Duration>) -> Alarm {
    clock is ContinuousClock ? continuous : Alarm(Timeline(clock))
  }

  /// Creates an alarm with nothing set.
  ///
  /// - Parameters:
  ///   - timeline: What time it is.
  ///   - executor: Where to sleep; nil for the executor that the task prefers which needs the
  ///     sleep.
  package init(_ timeline: Timeline, executor: (any TaskExecutor)? = nil) {
    self.timeline = timeline
    self.executor = executor
  }

  deinit {
    for task in guarded.withLock({ Array($0.tasks.values) }) { task.cancel() }
  }

  /// What time it is on the alarm's timeline, by which all deadlines are meant.
  package var now: Duration { timeline.now }

  /// How many deadlines are set.
  package var count: Int { guarded.withLock { $0.state.count } }

  /// Whether a deadline is set, and not yet reached or cancelled.
  package func isSet(_ id: ID) -> Bool { guarded.withLock { $0.state.isSet(id) } }

  /// Sees to it that the action is called at the deadline, or soon if that has passed.
  ///
  /// - Returns: What cancels it.
  /// - Complexity: O(log *n*) for *n* deadlines.
  @discardableResult
  package func set(at deadline: Duration, _ action: @escaping @Sendable () -> Void) -> ID {
    let (id, sleeper) = guarded.withLock { $0.state.set(action, at: deadline) }
    if let sleeper { start(sleeper) }
    return id
  }

  /// Takes a deadline back.
  ///
  /// - Returns: Whether it was set; false means that the action was called, or is about to be.
  /// - Complexity: O(log *n*) for *n* deadlines.
  @discardableResult
  package func cancel(_ id: ID) -> Bool {
    guarded.withLock { $0.state.cancel(id) } != nil
  }

  /// Sleeps until the deadline, with the one sleep that all share.
  ///
  /// - Throws: `CancellationError` if the task is cancelled first; nothing is left of the deadline.
  package func sleep(until deadline: Duration) async throws(CancellationError) {
    if Task.isCancelled { throw CancellationError() }
    if deadline <= now { return }
    let hasCome = OneShot<Bool>()
    let id = set(at: deadline) { hasCome.give(true) }
    let isAwake = await withTaskCancellationHandler {
      await hasCome.value
    } onCancel: {
      hasCome.give(false)
    }
    if !isAwake {
      cancel(id)
      throw CancellationError()
    }
  }

  /// Begins a sleep.
  ///
  /// The task does not hold the alarm. It has nobody's priority, for who waits for a deadline may
  /// be more urgent than who set the earliest.
  private func start(_ sleeper: State.Sleeper) {
    let preferred = executor ?? preferredTaskExecutor
    let executor = guarded.withLock { guarded in
      if let preferred { guarded.executor = preferred }
      return guarded.executor
    }
    let task = Task.detached(executorPreference: executor, priority: .high) {
      [weak self, timeline] in
      try? await timeline.sleep(until: sleeper.deadline)
      self?.wake(sleeper)
    }
    guarded.withLock { guarded in
      if guarded.state.sleeps(sleeper) { guarded.tasks[sleeper.number] = task }
    }
  }

  private func wake(_ sleeper: State.Sleeper) {
    let now = timeline.now
    let (due, next) = guarded.withLock { guarded in
      guarded.tasks[sleeper.number] = nil
      return guarded.state.wake(sleeper, at: now)
    }
    if let next { start(next) }
    for action in due { action() }
  }
}
