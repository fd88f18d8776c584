// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What a task queue, its handles and its items share: a lock around the state, and the alarm.
///
/// It notes an event under the lock and does what follows from it when the lock is gone.
final class TaskQueueStorage: Sendable {
  typealias Waiter = CheckedContinuation<Bool, Never>
  typealias State = TaskQueueState<TaskQueueItem, Waiter>

  private let state: Mutex<State>
  private let number = HeldPermit.newLimiter()
  private let alarm: Alarm
  /// The deadlines that are set at the alarm; nil when the queue is over.
  ///
  /// Two threads may set theirs in the other order than the state asked for them, so none takes the
  /// place of another, and one that comes when the queue is over is taken back.
  private let wakeUps = Mutex<Set<Alarm.ID>?>([])
  private let onEvent: (@Sendable (TaskQueueEvent) -> Void)?

  private let lastItem = Atomic<Int>(0)
  /// Where the items run; nil for where the task runs that adds them.
  private let executor: (any TaskExecutor)?

  init(limit: Int, options: TaskQueueOptions, alarm: Alarm, executor: (any TaskExecutor)?) {
    precondition(limit >= 0, "a limit cannot be negative, but is \(limit)")
    state = Mutex(State(limit: limit, options: options))
    onEvent = options.onEvent
    self.alarm = alarm
    self.executor = executor
  }

  deinit { cancelWakeUps() }

  /// A number for a new item.
  func newNumber() -> Int { lastItem.wrappingAdd(1, ordering: .relaxed).newValue }

  /// Where a new item runs: where the tasks do that the current task starts.
  var executorForItem: any TaskExecutor {
    if let executor { return executor }
    guard let preferred = preferredTaskExecutor else { return globalConcurrentExecutor }
    return (preferred as? TaskQueueItem)?.executor ?? preferred
  }

  /// Notes an event, and does what follows from it.
  @discardableResult
  func note<Result: Sendable>(_ event: @Sendable (inout State, Duration) -> Result) -> Result {
    let now = alarm.now
    let (result, effects) = state.withLock { state in
      (event(&state, now), state.settle(at: now))
    }
    perform(effects)
    return result
  }

  /// Takes in nothing more, and cancels all items.
  func stop() {
    note { state, _ in state.stop() }
  }

  /// Looks at the state.
  func read<Result: Sendable>(_ look: @Sendable (inout State, Duration) -> Result) -> Result {
    let now = alarm.now
    return state.withLock { look(&$0, now) }
  }

  /// Tells the observer what happened to an item.
  func tell(_ kind: TaskQueueEvent.Kind, _ item: TaskQueueItem) {
    onEvent?(TaskQueueEvent(kind: kind, id: item.options.number, name: item.options.name))
  }

  /// Waits until a condition holds.
  ///
  /// - Throws: `CancellationError` if the task is cancelled first.
  func wait(for condition: TaskQueueCondition) async throws(CancellationError) {
    if Task.isCancelled { throw CancellationError() }
    try await whileLendingPlace { () throws(CancellationError) in
      let ticket = state.withLock { $0.wait(for: condition) }
      try await wait(for: ticket) { [self] in
        state.withLock { $0.cancelWait(ticket) }?.resume(returning: false)
      }
    }
  }

  /// Waits until a ticket is decided.
  ///
  /// - Throws: `CancellationError` if it will not be reached, which `onCancel` must bring about.
  func wait(
    for ticket: State.TicketID, onCancel: @Sendable () -> Void
  ) async throws(CancellationError) {
    let isReached = await withTaskCancellationHandler {
      await suspend(ticket)
    } onCancel: {
      onCancel()
    }
    if !isReached { throw CancellationError() }
  }

  /// The mark for the operation of an item, by which the queue knows who waits inside it.
  func mark(_ id: SlabID) -> HeldPermit { HeldPermit(id, of: number) }

  /// Runs an operation until it succeeds or the policy gives up; its item lends its place in the pauses.
  func retry(
    _ policy: RetryPolicy, _ operation: TaskQueueItem.Operation
  ) async throws -> any Sendable {
    try await Batchwise.retry(
      policy, budget: nil, by: alarm, SystemRandomNumberGenerator(),
      sleep: { [self] deadline throws(CancellationError) in
        try await whileLendingPlace(isPause: true) { () throws(CancellationError) in
          try await alarm.sleep(until: deadline)
        }
      },
      runAttempt: { _ in try await operation() })
  }

  /// Waits for something, such as what becomes of an item; an item that waits lends its place.
  ///
  /// If what is awaited is an item, it must still be there for that.
  func whileLendingPlace<Success, Failure: Error>(
    for awaited: SlabID? = nil, isPause: Bool = false,
    _ wait: () async throws(Failure) -> Success
  ) async throws(Failure) -> Success {
    let holders = HeldPermit.holds(of: number)
    guard !holders.isEmpty,
      let lender = note({ state, _ in state.lend(from: holders, for: awaited, isPause: isPause) })
    else { return try await wait() }
    let result: Result<Success, Failure>
    do throws(Failure) {
      result = .success(try await wait())
    } catch {
      result = .failure(error)
    }
    _ = await suspend(note { state, _ in state.takeBack(lender) })
    return try result.get()
  }

  /// Waits until a condition holds, deaf to cancellation.
  func waitRegardless(for condition: TaskQueueCondition) async {
    _ = await suspend(state.withLock { $0.wait(for: condition) })
  }

  private func suspend(_ ticket: State.TicketID) async -> Bool {
    await withCheckedContinuation { continuation in
      if let turn = state.withLock({ $0.suspend(ticket, continuation) }) {
        continuation.resume(returning: turn)
      }
    }
  }

  private func perform(_ effects: State.Effects) {
    if let (item, id) = effects.firstStart { item.open(.starts(id)) }
    for (item, id) in effects.furtherStarts { item.open(.starts(id)) }
    for (item, reason) in effects.refusals { item.open(.refused(reason)) }
    for item in effects.cancellations { item.cancel() }
    for (waiter, isReached) in effects.woken { waiter.resume(returning: isReached) }
    if let wakeUp = effects.wakeUp { setWakeUp(at: wakeUp) }
    if effects.isOver { cancelWakeUps() }
  }

  private func setWakeUp(at moment: Duration) {
    let id = alarm.set(at: moment) { [weak self] in
      self?.note { state, now in state.wake(at: now) }
    }
    let isOver = wakeUps.withLock { wakeUps in
      // Those that have rung are not told apart; they are few, and cancelling them does nothing.
      if let set = wakeUps, set.count > 64 { wakeUps = set.filter { alarm.isSet($0) } }
      wakeUps?.insert(id)
      return wakeUps == nil
    }
    if isOver { alarm.cancel(id) }
  }

  private func cancelWakeUps() {
    let ids = wakeUps.withLock { wakeUps in
      defer { wakeUps = nil }
      return wakeUps
    }
    for id in ids ?? [] { alarm.cancel(id) }
  }
}
