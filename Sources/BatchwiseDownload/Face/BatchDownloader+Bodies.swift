// SPDX-License-Identifier: Apache-2.0

extension BatchDownloader {
  /// Downloads a list into memory, with at most `limit` requests in flight.
  ///
  ///     let bodies = try await downloader.downloadAll(urls, limit: 3, atMost: 64 << 20)
  ///
  /// The bodies are in the order of the list, and there is one for every request; equal requests have
  /// the same bytes, which are there once. Names of requests have no meaning here, and no file is made.
  ///
  /// **The bound.** All bodies together hold at most `bound` bytes, at any time. A body that does not
  /// fit fails with `too-large`, before any of it is held if its server announces its length.
  ///
  /// **Failure.** The first request to fail, in the order of time, ends the call: nothing further is
  /// started, what is in flight is cancelled *and awaited*, and the failure is thrown.
  ///
  /// **Cancellation** of the calling task does the same, and throws a `CancellationError` unless a
  /// failure came first.
  ///
  /// - Parameters:
  ///   - requests: The list.
  ///   - limit: The most requests in flight at once; nil for that of the options. Less than 1 traps.
  ///   - bound: The most bytes of all bodies together. A negative number traps.
  ///   - control: What looks into the batch and steers it.
  /// - Returns: The bodies, in the order of the list.
  /// - Throws: The first ``DownloadFailure``, which names its address, or a `CancellationError`.
  /// - Complexity: O(log *w*) a request for a fixed window of *w*, and memory for the bodies.
  public func downloadAll<Requests: Sequence & Sendable>(
    _ requests: Requests, limit: Int? = nil, atMost bound: Int, control: DownloadControl? = nil
  ) async throws -> [DownloadedBody] where Requests.Element: DownloadRequestConvertible {
    try await gather(SequenceFeed(requests), limit, bound, control)
  }

  /// Downloads a list that is still growing into memory, with at most `limit` requests in flight.
  ///
  /// The same as with a list that is there, but that a request starts when the list brings it. An
  /// error of the list ends the call as a failure does, and is thrown.
  ///
  /// - Parameters:
  ///   - requests: The list.
  ///   - limit: The most requests in flight at once; nil for that of the options. Less than 1 traps.
  ///   - bound: The most bytes of all bodies together. A negative number traps.
  ///   - control: What looks into the batch and steers it.
  /// - Returns: The bodies, in the order of the list.
  /// - Throws: What the call with a list that is there throws, or the list's error.
  /// - Complexity: As with a list that is there.
  public func downloadAll<Requests: AsyncSequence & Sendable>(
    _ requests: Requests, limit: Int? = nil, atMost bound: Int, control: DownloadControl? = nil
  ) async throws -> [DownloadedBody] where Requests.Element: DownloadRequestConvertible {
    try await gather(AsyncSequenceFeed(requests), limit, bound, control)
  }

  /// Downloads a list into memory and streams the bodies, with at most `limit` requests in flight.
  ///
  ///     for try await outcome in downloader.outcomes(of: urls, limit: 3, atMost: 64 << 20) {
  ///       try show(outcome.get().data)
  ///     }
  ///
  /// A request that fails is an outcome and not the end: there is one outcome for every request, with
  /// its place in the list. Outcomes come as soon as they are there: a body that waited for its turn
  /// would take the room that an earlier one needs.
  ///
  /// **The bound.** All bodies that are coming, or have come and are not read, hold at most `bound`
  /// bytes. A request that would pass it waits until others have been read. One whose length becomes
  /// known only when it is too much for the moment is given up, and asked for again when there is room.
  /// A single body over the bound fails with `too-large`.
  ///
  /// **Backpressure, lifetime and cancellation** are those of a stream of files.
  ///
  /// - Parameters:
  ///   - requests: The list.
  ///   - limit: The most requests in flight at once; nil for that of the options. Less than 1 traps.
  ///   - bound: The most bytes of bodies that are held. A negative number traps.
  ///   - readAhead: How many outcomes may wait to be read; 256 by default. A negative number traps.
  ///   - control: What looks into the batch and steers it; it serves one iterator.
  /// - Returns: A sequence of outcomes.
  /// - Complexity: O(log *w*) a request for a fixed window of *w*; memory for `limit + readAhead`
  ///   requests and the bound.
  public func outcomes<Requests: Sequence & Sendable>(
    of requests: Requests, limit: Int? = nil, atMost bound: Int, readAhead: Int? = nil,
    control: DownloadControl? = nil
  ) -> some AsyncSequence<DownloadOutcome<DownloadedBody>, any Error> & Sendable
  where Requests.Element: DownloadRequestConvertible {
    stream(SequenceFeed(requests), limit, bound, readAhead, control)
  }

  /// Downloads a list that is still growing into memory and streams the bodies, with at most `limit`
  /// requests in flight.
  ///
  /// The same as with a list that is there, but that a request starts when the list brings it. After an
  /// error of the list nothing further is started; the sequence throws it after the outcomes of what
  /// was in flight.
  ///
  /// - Parameters:
  ///   - requests: The list.
  ///   - limit: The most requests in flight at once; nil for that of the options. Less than 1 traps.
  ///   - bound: The most bytes of bodies that are held. A negative number traps.
  ///   - readAhead: How many outcomes may wait to be read; 256 by default. A negative number traps.
  ///   - control: What looks into the batch and steers it; it serves one iterator.
  /// - Returns: A sequence of outcomes, as with a list that is there.
  /// - Complexity: As with a list that is there.
  public func outcomes<Requests: AsyncSequence & Sendable>(
    of requests: Requests, limit: Int? = nil, atMost bound: Int, readAhead: Int? = nil,
    control: DownloadControl? = nil
  ) -> some AsyncSequence<DownloadOutcome<DownloadedBody>, any Error> & Sendable
  where Requests.Element: DownloadRequestConvertible {
    stream(AsyncSequenceFeed(requests), limit, bound, readAhead, control)
  }

  private func gather(
    _ feed: some RequestFeed, _ limit: Int?, _ bound: Int, _ control: DownloadControl?
  ) async throws -> [DownloadedBody] {
    let options = bodyOptions(limit)
    let store = BodyStore(capacity: bound, limit: options.limit, staysFull: true)
    return try await gather(feed, to: .memory(store), options, nil, control)
  }

  private func stream(
    _ feed: some RequestFeed, _ limit: Int?, _ bound: Int, _ readAhead: Int?,
    _ control: DownloadControl?
  ) -> OutcomeSequence<DownloadedBody> {
    precondition(bound >= 0, "A bound of \(bound) bytes: it must not be negative")
    let options = bodyOptions(limit)
    return OutcomeSequence(order: .completion, window: window(options, readAhead)) { storage in
      let store = BodyStore(capacity: bound, limit: options.limit, staysFull: false)
      try await self.stream(feed, to: .memory(store), options, nil, control, to: storage)
    }
  }

  /// The options of a batch in memory, where no name is in another's way.
  func bodyOptions(_ limit: Int?) -> DownloadOptions {
    var options = options(limit: limit)
    options.collisions = .suffix
    return options
  }
}
