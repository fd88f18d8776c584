// SPDX-License-Identifier: Apache-2.0

/// Runs a body for every element of a source, with at most `limit` bodies in flight.
///
/// All verbs are faces of this one engine. Its workers pull: a worker is a child task that claims
/// one element after the other, so an element costs a claim and not a task. Everything it starts
/// is over when a call of `run` returns.
struct Engine<Element: Sendable, Output: Sendable, Failure: Error>: Sendable {
  typealias Body = @Sendable (Element) async throws(Failure) -> Output

  /// Ends a worker, and with it the group. What it means is in the feed.
  struct Stop: Error {}

  let feed: Feed<Element, Output, Failure>
  private let body: Body
  /// Receives every output together with its element's offset.
  private let sink: (@Sendable (Int, Output) -> Void)?
  /// How to end when the calling task is cancelled; nil to go on.
  private let cancellation: Feed<Element, Output, Failure>.State.Ending?

  /// An engine for a call that returns once: cancellation is reported if `Failure` has room for it.
  init(_ limits: FeedLimits, keepsOutputs: Bool, body: @escaping Body) {
    feed = Feed(limits, keepsOutputs: keepsOutputs)
    self.body = body
    sink = nil
    cancellation = (CancellationError() as? Failure).map { .failed($0) }
  }

  /// An engine whose outputs are read as they come: when cancelled it stops and says nothing.
  init(
    _ limits: FeedLimits, sink: @escaping @Sendable (Int, Output) -> Void, body: @escaping Body
  ) {
    feed = Feed(limits, keepsOutputs: false)
    self.body = body
    self.sink = sink
    cancellation = .stopped
  }

  /// Returns normally if and only if nothing was left undone.
  func checkCompletion() throws(Failure) {
    if case .failed(let failure) = feed.ending { throw failure }
  }

  /// Claims and runs elements until nothing is left to do. One worker.
  func work() async throws(Stop) {
    while let block = await feed.nextBlock() {
      let elements = block.elements
      while let index = block.claim() {
        // Before the body: a block that is used up must not keep the feeder from publishing.
        if index == elements.count - 1 { feed.exhaustBlock() }
        let output: Output
        do {
          output = try await body(elements[index])
        } catch {
          fail(error)
          throw Stop()
        }
        block.slots?.store(output, at: index)
        sink?(block.offset + index, output)
      }
    }
  }

  /// Ends the run because an element, or the source, failed.
  ///
  /// Workers are cancelled by the caller's cancellation, or by the group after an earlier failure,
  /// which is then already noted. So an error thrown under cancellation never hides its cause.
  func fail(_ failure: Failure) {
    if Task.isCancelled, let cancellation {
      feed.end(cancellation)
    } else {
      feed.end(.failed(failure))
    }
  }

  /// Notes that the source has ended, unless it only gave up because it was cancelled.
  func finish() {
    if Task.isCancelled, let cancellation { feed.endUnlessAllClaimed(cancellation) }
    feed.finish()
  }

  /// Reacts to the cancellation of the calling task: nothing new starts.
  func cancel() {
    if let cancellation { feed.endUnlessAllClaimed(cancellation) }
  }
}
