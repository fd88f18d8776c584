// SPDX-License-Identifier: Apache-2.0

/// What is true of a task queue at one moment.
public struct TaskQueueStatus: Sendable, Hashable {
  /// The most items in flight at once.
  public var limit: Int
  /// How many items have started and not ended, without those that lend their place meanwhile.
  public var inFlight: Int
  /// How many items are accepted and have not started.
  public var waiting: Int
  /// How many items wait for room in the backlog, with those who add them.
  public var offered: Int
  /// How many items have started and lend their place while they wait.
  public var lending: Int
  /// Whether nothing starts until `resume`.
  public var isPaused: Bool
  /// Whether nothing more is taken in.
  public var isFinished: Bool
  /// How many items have ended or will never start, by what became of them.
  public var counts: TaskQueueCounts
  /// How long the item has waited that waits longest; nil if none does.
  public var longestWait: Duration?
  /// How long the item has been in flight that is so longest; nil if none is.
  public var longestRun: Duration?
  /// How long items waited that have started.
  public var waitTimes: DurationSummary
  /// How long items were in flight that have ended.
  public var runTimes: DurationSummary
}

/// How many items of a queue came to which end.
public struct TaskQueueCounts: Sendable, Hashable {
  /// Items whose operation returned.
  public var succeeded = 0
  /// Items whose operation threw, or whose timeout was over.
  public var failed = 0
  /// Items that were cancelled.
  public var cancelled = 0
  /// Items that were refused, dropped, or waited too long.
  public var refused = 0
  /// Items still in flight although their timeout is over; they were cancelled and have not ended.
  public var overdue = 0

  mutating func note(_ outcome: TaskQueueOutcome) {
    switch outcome {
    case .succeeded: succeeded += 1
    case .failed: failed += 1
    case .cancelled: cancelled += 1
    case .refused: refused += 1
    }
  }
}

/// What became of an item, as its event tells it and ``TaskQueueCounts`` counts it.
public enum TaskQueueOutcome: Sendable, Hashable {
  /// Its operation returned.
  case succeeded
  /// Its operation threw, or its timeout was over before it ended, whatever it returned.
  case failed
  /// It was cancelled before it started, or its operation threw `CancellationError` when it was
  /// cancelled.
  case cancelled
  /// It was refused, dropped, or waited too long.
  case refused
}

/// Where an item of a queue is.
public enum TaskQueueItemState: Sendable, Hashable {
  /// Not started, and what keeps it from starting.
  case waiting(TaskQueueHindrance)
  /// Started and not ended.
  case inFlight
  /// Ended, or never to start.
  case ended
}

/// What keeps an item from starting.
public enum TaskQueueHindrance: Sendable, Hashable {
  /// As many items are in flight as the limit allows, or an item with a better place goes first.
  case limit
  /// As many items with its key are in flight as the limit for a key allows.
  case key
  /// The rate lets the next item start in this time.
  case rate(in: Duration)
  /// The queue is paused.
  case paused
  /// It is a barrier, or comes after one, and what came before is not over.
  case barrier
  /// The backlog is full.
  case backlog

  init(_ hindrance: AdmissionHindrance, at now: Duration) {
    self =
      switch hindrance {
      case .paused: .paused
      case .barrier: .barrier
      case .key: .key
      case .limit: .limit
      case .rate(let moment): .rate(in: max(.zero, moment - now))
      }
  }
}

/// What is true of one item at one moment.
public struct TaskQueueItemStatus: Sendable, Equatable, Identifiable {
  /// Tells it from all other items of its queue; later ones have higher numbers.
  public var id: Int
  /// Its name, if it has one.
  public var name: String?
  /// Where it stands in the order; raised by who waits for it.
  public var priority: TaskPriority
  /// Where it is.
  public var state: TaskQueueItemState
  /// How long it has been waiting, or in flight.
  public var age: Duration
  /// Whether it is in flight although its timeout is over.
  public var isOverdue: Bool
}

/// Something that happened to an item.
public struct TaskQueueEvent: Sendable, Hashable {
  /// What happened.
  public enum Kind: Sendable, Hashable {
    /// It was handed to the queue.
    case added
    /// It was admitted, and its operation begins.
    case started
    /// Its operation has ended, or it will never start.
    case ended(TaskQueueOutcome)
  }

  /// What happened.
  public var kind: Kind
  /// Tells the item from all others of its queue; its handle has the same.
  public var id: Int
  /// The item's name, if it has one.
  public var name: String?
}

/// What can be waited for.
enum TaskQueueCondition: Sendable {
  /// Nothing waits and nothing is in flight.
  case idle
  /// The same, and nothing more will come.
  case over
  /// Fewer than so many wait.
  case backlog(below: Int)
  /// Nothing is in flight, whatever waits.
  case nothingInFlight
  /// Something has happened since.
  case change(since: Int)
}
