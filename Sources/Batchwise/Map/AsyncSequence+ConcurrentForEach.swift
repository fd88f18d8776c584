// SPDX-License-Identifier: Apache-2.0

extension AsyncSequence where Self: Sendable, Element: Sendable, Failure == Never {
  /// Runs a body for every element as it arrives, with at most `limit` bodies in flight.
  public func concurrentForEach<BodyFailure: Error>(
    limit: Int, _ body: @escaping @Sendable (Element) async throws(BodyFailure) -> Void
  ) async throws(BodyFailure) {
    let engine = Engine(.asyncSequence(limit: limit), outlet: .discard, body: body)
    await engine.run(self)
    try engine.checkCompletion()
  }
}

extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// Runs a body for every element as it arrives, with at most `limit` bodies in flight.
  public func concurrentForEach<BodyFailure: Error>(
    limit: Int, _ body: @escaping @Sendable (Element) async throws(BodyFailure) -> Void
  ) async throws {
    let engine = Engine<Element, Void, any Error>(
      .asyncSequence(limit: limit), outlet: .discard, body: body)
    await engine.run(self) { $0 }
    try engine.checkCompletion()
  }
}
