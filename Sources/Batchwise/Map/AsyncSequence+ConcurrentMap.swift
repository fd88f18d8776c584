// SPDX-License-Identifier: Apache-2.0

extension AsyncSequence where Self: Sendable, Element: Sendable, Failure == Never {
  /// Transforms every element as it arrives, with at most `limit` transformations in flight.
  public func concurrentMap<Output: Sendable, TransformFailure: Error>(
    limit: Int,
    _ transform: @escaping @Sendable (Element) async throws(TransformFailure) -> Output
  ) async throws(TransformFailure) -> [Output] {
    let engine = Engine(.asyncSequence(limit: limit), outlet: .keep, body: transform)
    await engine.run(self)
    try engine.checkCompletion()
    return engine.takeOutputs()
  }
}

extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// Transforms every element as it arrives, with at most `limit` transformations in flight.
  public func concurrentMap<Output: Sendable, TransformFailure: Error>(
    limit: Int,
    _ transform: @escaping @Sendable (Element) async throws(TransformFailure) -> Output
  ) async throws -> [Output] {
    let engine = Engine<Element, Output, any Error>(
      .asyncSequence(limit: limit), outlet: .keep, body: transform)
    await engine.run(self) { $0 }
    try engine.checkCompletion()
    return engine.takeOutputs()
  }
}
