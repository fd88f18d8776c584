// SPDX-License-Identifier: Apache-2.0

/// What a task queue does besides keeping its limit.
public struct TaskQueueOptions: Sendable {
  /// The most items in flight at once that have the same key.
  public var limitPerKey: Int

  /// How often an item starts at most; nil for as often as there is room.
  public var rate: RateLimit?

  /// How many items may wait, and what happens to one more.
  public var backlog: TaskQueueBacklog

  /// How much longer an item must have waited to start before one that is one point of priority
  /// above it; nil if none ever does.
  ///
  /// `TaskPriority.high` is 16 points above `.background`, so with a second a background item
  /// starts before each high one that was added more than 16 seconds after it.
  public var ageing: Duration?

  /// Called for every event: for `added` by who adds the item, and else by the item's own task.
  ///
  /// It must be quick. An item's `started` is told after it was admitted and its `ended` before its
  /// place is given on, so in the order of the calls never more than the limit are in flight. An item
  /// that lends its place while it waits, for another or to be tried again, is started all the while,
  /// and comes on top.
  public var onEvent: (@Sendable (TaskQueueEvent) -> Void)?

  /// Describes options; by default the plainest.
  ///
  /// - Parameters:
  ///   - limitPerKey: The most items in flight at once that have the same key. A negative number is
  ///     a programming error and traps.
  ///   - rate: How often an item starts at most.
  ///   - backlog: How many items may wait, and what happens to one more.
  ///   - ageing: What waiting is worth; see ``ageing``.
  ///   - onEvent: Called for every event; see ``onEvent``.
  public init(
    limitPerKey: Int = .max, rate: RateLimit? = nil, backlog: TaskQueueBacklog = .unbounded,
    ageing: Duration? = nil, onEvent: (@Sendable (TaskQueueEvent) -> Void)? = nil
  ) {
    precondition(
      limitPerKey >= 0, "a limit for each key cannot be negative, but is \(limitPerKey)")
    self.limitPerKey = limitPerKey
    self.rate = rate
    self.backlog = backlog
    self.ageing = ageing
    self.onEvent = onEvent
  }
}

/// How many items of a queue may wait, and what happens to one more.
///
/// To wait until there is room is not a policy but a call: `addWhenRoom`.
public struct TaskQueueBacklog: Sendable, Hashable {
  /// What gives way when the backlog is full.
  public struct Overflow: Sendable, Hashable {
    enum Kind {
      case refuse, dropOldest, dropNewest
    }

    let kind: Kind

    /// The new item: it fails with ``TaskQueueError/Code/full``.
    public static let refuse = Overflow(kind: .refuse)

    /// The item that was added first of those that wait: it fails with
    /// ``TaskQueueError/Code/dropped``.
    public static let dropOldest = Overflow(kind: .dropOldest)

    /// The item that was added last of those that wait: it fails with
    /// ``TaskQueueError/Code/dropped``.
    public static let dropNewest = Overflow(kind: .dropNewest)
  }

  let capacity: Int
  let overflow: Overflow

  /// Any number of items may wait.
  public static let unbounded = TaskQueueBacklog(capacity: .max, overflow: .refuse)

  /// At most so many items wait.
  ///
  /// - Parameters:
  ///   - capacity: How many may wait. Zero means now or not at all; a negative number is a
  ///     programming error and traps.
  ///   - overflow: What gives way.
  /// - Returns: The backlog.
  public static func limited(to capacity: Int, overflow: Overflow = .refuse) -> TaskQueueBacklog {
    precondition(capacity >= 0, "a backlog cannot hold fewer than none, but is \(capacity)")
    return TaskQueueBacklog(capacity: capacity, overflow: overflow)
  }
}

/// What `add` says about an item.
struct TaskQueueItemOptions {
  /// Counts the items of a queue.
  var number = 0
  var name: String?
  var priority: Int
  var key: AdmissionKey?
  var isBarrier: Bool
  var timeout: Duration?
  var waitTimeout: Duration?
}
