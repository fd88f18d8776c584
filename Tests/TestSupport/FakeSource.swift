// SPDX-License-Identifier: Apache-2.0

public import BatchwiseDownload
public import BatchwiseTesting

/// A source whose every answer is a closure's.
public struct FakeSource: WorkSource {
  /// How often it has been asked.
  public let asked = Watched(0)

  private let answer: @Sendable (_ time: Int, _ count: Int) async throws -> [WorkItem]?

  /// Makes a source that answers as the closure says, which is told the how manieth time it is.
  public init(_ answer: @escaping @Sendable (_ time: Int, _ count: Int) async throws -> [WorkItem]?)
  {
    self.answer = answer
  }

  /// What the closure says.
  public func next(upTo count: Int) async throws -> [WorkItem]? {
    let time = asked.update { asked in
      asked += 1
      return asked
    }
    return try await answer(time, count)
  }
}
