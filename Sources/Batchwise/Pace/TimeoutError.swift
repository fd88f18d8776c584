// SPDX-License-Identifier: Apache-2.0

/// Work was cancelled because its time was up.
public struct TimeoutError: Error, CustomStringConvertible {
  /// The time that it had.
  public let timeout: Duration

  /// What the work threw when it was cancelled; nil if it returned, if it threw
  /// `CancellationError`, or if it was not begun.
  public let cause: (any Error)?

  /// Creates an error for work that had this much time.
  ///
  /// - Parameters:
  ///   - timeout: The time that it had.
  ///   - cause: What it threw when it was cancelled, if that says more than that it was.
  public init(timeout: Duration, cause: (any Error)? = nil) {
    self.timeout = timeout
    self.cause = cause
  }

  /// The time, and what the work threw.
  public var description: String {
    let text = "not done within \(timeout)"
    guard let cause else { return text }
    return "\(text): \(cause)"
  }
}
