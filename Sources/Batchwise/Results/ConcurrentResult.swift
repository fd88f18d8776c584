// SPDX-License-Identifier: Apache-2.0

/// What became of one element, and where in the source it stood.
public struct ConcurrentResult<Output: Sendable, Failure: Error>: Sendable {
  /// The place of the element in the source, counted from zero.
  public let offset: Int

  /// What the transformation returned or threw.
  public let result: Result<Output, Failure>

  /// Describes an element's outcome.
  public init(offset: Int, result: Result<Output, Failure>) {
    self.offset = offset
    self.result = result
  }

  /// Returns the output, or throws what the transformation threw.
  public func get() throws(Failure) -> Output {
    try result.get()
  }
}

extension ConcurrentResult: Equatable where Output: Equatable, Failure: Equatable {}
