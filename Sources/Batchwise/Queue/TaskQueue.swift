// SPDX-License-Identifier: Apache-2.0

/// A list of work that grows while it is worked on, with at most `limit` items in flight.
///
///     let queue = TaskQueue<Page>(limit: 3)
///     let page = queue.add(name: "front page") { try await load(url) }
///     show(try await page.value)
///
/// `add` never suspends and never refuses to answer: it gives a handle, through which the item can
/// be awaited, cancelled, moved and asked why it does not run.
/// ``withTaskQueue(of:limit:options:clock:_:)`` gives a queue whose items are all over when it
/// returns; a queue that is created by itself runs its items even if nobody holds it any more.
///
/// **Order.** Items start by priority, and in the order of the calls of `add` among equals. Nobody
/// overtakes the first, except past items whose key has no room, or of whom a barrier holds back.
///
/// **Context.** An item runs in a task of its own, with the task-local values of who added it and
/// no actor. Its priority is the adder's unless another is given; a task that waits for the item
/// and has a higher one raises it.
///
/// **Nesting.** An item may add items to its own queue and wait for them. While it waits, it lends
/// its place to others and is not counted as in flight, so that it never waits for itself; then it
/// takes the next place that is free. A task started inside an item counts as the item. An item
/// must not wait for the end of its own queue, as ``drain()`` does. A limit of zero counts as one for
/// items that want their place back, so that what has started can end.
///
/// **Cancellation.** An item that waits is taken out and fails with `CancellationError`, and its
/// operation is never entered. One in flight is cancelled cooperatively and holds its place until
/// it has ended. Waiting for something is always cancellable, and cancels nothing but the waiting.
///
/// **Memory.** An item that waits is a task that has not begun. A limited backlog bounds them.
public final class TaskQueue<Success: Sendable>: Sendable {
  let storage: TaskQueueStorage

  /// Creates a queue.
  ///
  /// - Parameters:
  ///   - limit: The most items in flight at once; zero starts none until it is changed. A negative
  ///     number is a programming error and traps.
  ///   - options: What it does besides keeping its limit.
  ///   - clock: What measures timeouts, rates and ages, and wakes those that are due.
  public convenience init(
    limit: Int, options: TaskQueueOptions = TaskQueueOptions(),
    clock: some Clock<Duration> = ContinuousClock()
  ) {
    self.init(limit: limit, options: options, alarm: .shared(for: clock), executor: nil)
  }

  /// Creates a queue whose items run on an executor of choice, on which a test can take every step.
  package init(
    limit: Int, options: TaskQueueOptions = TaskQueueOptions(), alarm: Alarm,
    executor: (any TaskExecutor)?
  ) {
    storage = TaskQueueStorage(limit: limit, options: options, alarm: alarm, executor: executor)
  }

  deinit { storage.note { state, _ in state.abandon() } }

  // MARK: Adding

  /// Adds an item.
  ///
  /// It starts at once if there is room. If it cannot be taken in, since the backlog is full or the
  /// queue is finished, its handle fails with a ``TaskQueueError``.
  ///
  /// The item is the queue's: cancelling who added it does not cancel it, nor keep it from being
  /// added.
  ///
  /// - Parameters:
  ///   - name: What to call it in errors, events and snapshots.
  ///   - priority: Where it stands in the order, and the priority of its task; the caller's by
  ///     default.
  ///   - key: Whose limit it also falls under, if the queue has a limit for each key.
  ///   - isBarrier: Whether it runs alone: after all items added before it and before all after.
  ///   - timeout: How long it may be in flight. Then it is cancelled, and when it has ended it
  ///     fails with ``TaskQueueError/Code/timedOut``, even if it returned; it holds its place until
  ///     then.
  ///   - waitTimeout: How long it may wait. Then it fails with
  ///     ``TaskQueueError/Code/waitedTooLong``, and never starts.
  ///   - retry: Whether and when the operation is run again after a failure; nil for never. In a
  ///     pause the item lends its place, and then it comes before all that have not started. Its
  ///     timeout counts from its first start.
  ///   - operation: What to do.
  /// - Returns: The item's handle. Dropping it does not cancel the item.
  /// - Complexity: O(log *n*), where *n* wait, and a task.
  @discardableResult
  public func add(
    name: String? = nil, priority: TaskPriority? = nil, key: (any Hashable & Sendable)? = nil,
    isBarrier: Bool = false, timeout: Duration? = nil, waitTimeout: Duration? = nil,
    retry: RetryPolicy? = nil,
    operation: @escaping @Sendable () async throws -> Success
  ) -> Handle {
    let item = makeItem(
      name, priority, key, isBarrier, timeout: timeout, waitTimeout: waitTimeout, retry, operation)
    return Handle(
      item: item, id: storage.note { state, now in state.add(item, item.options, at: now) })
  }

  /// Adds an item as soon as there is room in the backlog.
  ///
  /// Those who wait for room are served in the order in which they came. The item stands in the
  /// order of the queue from when it is taken in.
  ///
  /// - Parameters:
  ///   - name: What to call it in errors, events and snapshots.
  ///   - priority: Where it stands in the order, and the priority of its task; the caller's by
  ///     default.
  ///   - key: Whose limit it also falls under, if the queue has a limit for each key.
  ///   - isBarrier: Whether it runs alone.
  ///   - timeout: How long it may be in flight.
  ///   - waitTimeout: How long it may wait, for room and in the backlog together.
  ///   - retry: Whether and when the operation is run again after a failure.
  ///   - operation: What to do; see
  ///     ``add(name:priority:key:isBarrier:timeout:waitTimeout:retry:operation:)``.
  /// - Returns: The item's handle, when the item is taken in.
  /// - Throws: `CancellationError` if the caller is cancelled before there is room, and a
  ///   ``TaskQueueError`` if the queue is finished or the item's timeout for waiting is over. The
  ///   item is then never started.
  /// - Complexity: O(log *n*), where *n* wait, and a task.
  @discardableResult
  public func addWhenRoom(
    name: String? = nil, priority: TaskPriority? = nil, key: (any Hashable & Sendable)? = nil,
    isBarrier: Bool = false, timeout: Duration? = nil, waitTimeout: Duration? = nil,
    retry: RetryPolicy? = nil,
    operation: @escaping @Sendable () async throws -> Success
  ) async throws -> Handle {
    if Task.isCancelled { throw CancellationError() }
    let item = makeItem(
      name, priority, key, isBarrier, timeout: timeout, waitTimeout: waitTimeout, retry, operation)
    let (id, ticket) = storage.note { state, now in state.offer(item, item.options, at: now) }
    do {
      try await storage.whileLendingPlace(for: id) { () throws(CancellationError) in
        try await storage.wait(for: ticket) { [storage] in
          storage.note { state, _ in state.withdraw(id) }
        }
      }
    } catch {
      // The item knows better why it was not taken in.
      _ = try await item.wait()?.get()
      throw error
    }
    return Handle(item: item, id: id)
  }

  private func makeItem(
    _ name: String?, _ priority: TaskPriority?, _ key: (any Hashable & Sendable)?,
    _ isBarrier: Bool, timeout: Duration?, waitTimeout: Duration?, _ retry: RetryPolicy?,
    _ operation: @escaping @Sendable () async throws -> Success
  ) -> TaskQueueItem {
    let priority = priority ?? Task.currentPriority
    // Nobody can tell anything longer from for ever, and some clocks cannot count much further.
    let (timeout, waitTimeout) = (
      timeout.map { min($0, .century) }, waitTimeout.map { min($0, .century) }
    )
    let options = TaskQueueItemOptions(
      number: storage.newNumber(), name: name, priority: Int(priority.rawValue),
      key: key.map { AdmissionKey($0) },
      isBarrier: isBarrier, timeout: timeout, waitTimeout: waitTimeout)
    var body: TaskQueueItem.Operation = operation
    if let retry {
      body = { [storage, operation = body] in try await storage.retry(retry, operation) }
    }
    let item = TaskQueueItem(options, priority: priority, storage: storage, operation: body)
    storage.tell(.added, item)
    return item
  }

  // MARK: Changes while it runs

  /// Changes the limit.
  ///
  /// Lowering it interrupts nothing: nothing starts until enough have ended. Raising it starts
  /// items at once.
  ///
  /// - Parameter limit: The most items in flight at once, or zero to start none. A negative number
  ///   traps.
  /// - Complexity: O(*k*), where *k* keys are in use, besides those that start.
  public func setLimit(_ limit: Int) {
    precondition(limit >= 0, "a limit cannot be negative, but is \(limit)")
    storage.note { state, _ in state.setLimit(limit) }
  }

  /// Changes the limit for each key.
  ///
  /// Lowering it interrupts nothing, raising it starts items at once.
  ///
  /// - Parameter limit: The most items in flight at once that have the same key, or zero. A
  ///   negative number traps.
  /// - Complexity: O(*k*), where *k* keys are in use, besides those that start.
  public func setLimitPerKey(_ limit: Int) {
    precondition(limit >= 0, "a limit for each key cannot be negative, but is \(limit)")
    storage.note { state, _ in state.setLimitPerKey(limit) }
  }

  /// Changes how often an item starts at most.
  ///
  /// What was started under the old rate counts by the new one. Without an old one, nothing counts.
  ///
  /// - Parameter rate: The starts in a length of time, one token for each; nil for as often as
  ///   there is room.
  /// - Complexity: As ``RateLimiter/setLimit(_:)``, besides those that start.
  public func setRate(_ rate: RateLimit?) {
    storage.note { state, now in state.setRate(rate, at: now) }
  }

  /// Starts nothing more until ``resume()``; what is in flight goes on.
  ///
  /// It is not counted: one `resume` is enough for any number of pauses. Items can still be added,
  /// and their timeouts for waiting go on.
  ///
  /// - Complexity: O(1).
  public func pause() {
    storage.note { state, _ in state.pause() }
  }

  /// Starts items again.
  ///
  /// - Complexity: O(1), besides O(log *n*) for each of those that start, where *n* wait.
  public func resume() {
    storage.note { state, _ in state.resume() }
  }

  /// Cancels all items, whether they wait or are in flight; more can be added.
  ///
  /// Those that wait never start. Those in flight are cancelled cooperatively and not awaited;
  /// ``drain()`` waits for them.
  ///
  /// - Complexity: O(*n* log *n*) for *n* items.
  public func cancelAll() {
    storage.note { state, _ in state.cancelAll() }
  }

  /// Takes in nothing more.
  ///
  /// What is in flight goes on, what waits for room in the backlog is refused, and what waits in it
  /// still runs or is dropped. ``drain()`` waits for the end.
  ///
  /// - Parameter droppingWaiting: Whether items that wait fail with
  ///   ``TaskQueueError/Code/dropped`` instead of running.
  /// - Complexity: O(*n* log *n*) for *n* items that are refused or dropped.
  public func finish(droppingWaiting: Bool = false) {
    storage.note { state, _ in state.finish(droppingWaiting: droppingWaiting) }
  }

  // MARK: Waiting

  /// Waits until nothing waits and nothing is in flight.
  ///
  /// Returns at once if that is so, as in a queue that never had an item.
  ///
  /// - Throws: `CancellationError` if the caller is cancelled first, or already was.
  public func drain() async throws(CancellationError) {
    try await storage.wait(for: .idle)
  }

  /// Waits until fewer than so many items wait, for a producer that wants backpressure.
  ///
  /// It keeps no room: of several producers that are woken, the first to add may fill it. To be
  /// sure of a place, limit the backlog and use `addWhenRoom`.
  ///
  /// - Parameter backlog: How many waiting items are too many; below one is a programming error and
  ///   traps.
  /// - Throws: `CancellationError` if the caller is cancelled first, or already was.
  public func waitForCapacity(below backlog: Int) async throws(CancellationError) {
    precondition(backlog > 0, "no backlog is below \(backlog); the least to wait for is 1")
    try await storage.wait(for: .backlog(below: backlog))
  }

  /// Waits until nothing is in flight, whatever waits; useful while the queue is paused.
  ///
  /// - Throws: `CancellationError` if the caller is cancelled first, or already was.
  public func waitUntilNothingInFlight() async throws(CancellationError) {
    try await storage.wait(for: .nothingInFlight)
  }

  /// Waits until the queue is finished and all its items are over, as the task that owns it.
  ///
  /// If that task is cancelled, the queue takes in nothing more, all its items are cancelled, and
  /// the call returns when they have ended.
  public func run() async {
    await withTaskCancellationHandler {
      await storage.waitRegardless(for: .over)
    } onCancel: {
      storage.stop()
    }
  }

  // MARK: Looking

  /// What is true now, all of one moment.
  ///
  /// - Complexity: O(1) on average, under a lock.
  public var status: TaskQueueStatus {
    storage.read { state, now in state.status(at: now) }
  }

  /// All items that are not over, in the order in which they were added, all of one moment.
  ///
  /// - Complexity: O(*n* log *n*) for *n* items.
  public var items: [TaskQueueItemStatus] {
    storage.read { state, now in state.snapshot(at: now) }
  }

  /// The status whenever it has changed, until the queue is finished and all its items are over.
  ///
  /// A reader gets the status of now, and then the newest each time; what it was too slow for is
  /// left out, and nothing is kept for it. Each reader is by itself. Cancelling it ends its
  /// sequence.
  public var statusUpdates: TaskQueueStatusUpdates {
    TaskQueueStatusUpdates(storage: storage)
  }
}
