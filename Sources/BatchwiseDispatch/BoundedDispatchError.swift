// SPDX-License-Identifier: Apache-2.0

/// What went wrong with an item of a bounded queue, other than its work.
public struct BoundedDispatchError: Error, Hashable, CustomStringConvertible {
  /// What went wrong.
  public struct Code: Sendable, Hashable {
    enum Kind {
      case dropped, neverCompleted, completedTwice
    }

    let kind: Kind

    /// The item waited, and was dropped before it began.
    public static let dropped = Code(kind: .dropped)

    /// The item's completion was let go of and never called.
    public static let neverCompleted = Code(kind: .neverCompleted)

    /// The item's completion was called a second time.
    public static let completedTwice = Code(kind: .completedTwice)
  }

  /// What went wrong.
  public let code: Code

  /// The label of the queue.
  public let label: String

  init(_ code: Code, label: String) {
    self.code = code
    self.label = label
  }

  /// Says what went wrong, and what to do about it.
  public var description: String {
    switch code.kind {
    case .dropped: "an item of queue '\(label)' was dropped before it began"
    case .neverCompleted:
      "work on queue '\(label)' let go of its completion without calling it; call it once on every path"
    case .completedTwice:
      "work on queue '\(label)' called its completion twice; call it once on every path"
    }
  }
}
