// SPDX-License-Identifier: Apache-2.0

/// Why an item of a task queue failed without its operation having failed.
///
/// An item that was cancelled fails with `CancellationError` instead.
public struct TaskQueueError: Error, Hashable, CustomStringConvertible {
  /// What became of the item.
  public struct Code: Sendable, Hashable {
    enum Kind {
      case full, dropped, finished, waitedTooLong, timedOut
    }

    let kind: Kind

    /// The backlog was full, so it was not taken in.
    public static let full = Code(kind: .full)

    /// It waited, and gave way to a newer item or to the end of the queue.
    public static let dropped = Code(kind: .dropped)

    /// It was added after `finish`, so it was not taken in.
    public static let finished = Code(kind: .finished)

    /// Its timeout for waiting was over before it could start.
    public static let waitedTooLong = Code(kind: .waitedTooLong)

    /// Its timeout was over while it was in flight; it was cancelled, and has ended.
    public static let timedOut = Code(kind: .timedOut)
  }

  /// What became of the item.
  public let code: Code

  /// The item's name, if it has one.
  public let name: String?

  /// Says what became of the item, and what can be done.
  public var description: String {
    let item = name.map { "item '\($0)'" } ?? "an item"
    return switch code.kind {
    case .full: "\(item) was refused: the backlog is full. Use addWhenRoom to wait for room."
    case .dropped: "\(item) was dropped before it started."
    case .finished: "\(item) was refused: the queue is finished and takes in nothing more."
    case .waitedTooLong: "\(item) did not start within its timeout for waiting."
    case .timedOut: "\(item) did not end within its timeout."
    }
  }
}

/// Why an item does not start.
enum TaskQueueRefusal: Sendable {
  case full, dropped, finished, waitedTooLong, timedOut, cancelled

  func error(name: String?) -> any Error {
    switch self {
    case .full: TaskQueueError(code: .full, name: name)
    case .dropped: TaskQueueError(code: .dropped, name: name)
    case .finished: TaskQueueError(code: .finished, name: name)
    case .waitedTooLong: TaskQueueError(code: .waitedTooLong, name: name)
    case .timedOut: TaskQueueError(code: .timedOut, name: name)
    case .cancelled: CancellationError()
    }
  }
}
