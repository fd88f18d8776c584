// SPDX-License-Identifier: Apache-2.0

extension BatchDownloader {
  /// Downloads a list to files, with at most `limit` requests in flight.
  ///
  ///     let files = try await downloader.downloadAll(urls, to: OutputFolder(path: "pictures"), limit: 3)
  ///
  /// The results are in the order of the list, and there is one for every request: equal requests have
  /// the same one. A file has its final name only when it is whole and right.
  ///
  /// **Failure.** The first request to fail, in the order of time, ends the call: nothing further is
  /// started, what is in flight is cancelled *and awaited*, and the failure is thrown. The files that
  /// were done stay. To have an outcome for every request, read
  /// ``outcomes(of:to:limit:order:readAhead:journal:control:)-3y3wp`` instead.
  ///
  /// **Cancellation** of the calling task does the same, and throws a `CancellationError` unless a
  /// failure came first. With a journal, another call goes on where this one ended.
  ///
  /// - Parameters:
  ///   - requests: The list.
  ///   - folder: Where the files go.
  ///   - limit: The most requests in flight at once; nil for that of the options. Less than 1 traps.
  ///   - journal: What remembers the folder's files for another call, if there is to be one.
  ///   - control: What looks into the batch and steers it.
  /// - Returns: What came of each request, in the order of the list.
  /// - Throws: The first ``DownloadFailure``, which names its address; a `CancellationError`; what
  ///   keeps the whole batch from going on, such as a ``JournalError``.
  /// - Complexity: O(log *w*) a request for a fixed window of *w*, and memory for the results.
  public func downloadAll<Requests: Sequence & Sendable>(
    _ requests: Requests, to folder: OutputFolder, limit: Int? = nil,
    journal: (any DownloadJournal)? = nil, control: DownloadControl? = nil
  ) async throws -> [FileResult] where Requests.Element: DownloadRequestConvertible {
    try await gather(
      SequenceFeed(requests), to: .folder(folder), options(limit: limit), journal, control)
  }

  /// Downloads a list that is still growing to files, with at most `limit` requests in flight.
  ///
  /// The same as with a list that is there, but that a request starts when the list brings it. An
  /// error of the list ends the call as a failure does, and is thrown.
  ///
  /// - Parameters:
  ///   - requests: The list.
  ///   - folder: Where the files go.
  ///   - limit: The most requests in flight at once; nil for that of the options. Less than 1 traps.
  ///   - journal: What remembers the folder's files for another call, if there is to be one.
  ///   - control: What looks into the batch and steers it.
  /// - Returns: What came of each request, in the order of the list.
  /// - Throws: What the call with a list that is there throws, or the list's error.
  /// - Complexity: As with a list that is there.
  public func downloadAll<Requests: AsyncSequence & Sendable>(
    _ requests: Requests, to folder: OutputFolder, limit: Int? = nil,
    journal: (any DownloadJournal)? = nil, control: DownloadControl? = nil
  ) async throws -> [FileResult] where Requests.Element: DownloadRequestConvertible {
    try await gather(
      AsyncSequenceFeed(requests), to: .folder(folder), options(limit: limit), journal, control)
  }

  /// Downloads a list to files and streams their outcomes, with at most `limit` requests in flight.
  ///
  ///     for try await outcome in downloader.outcomes(of: urls, to: folder, limit: 3) {
  ///       print(outcome.request.url, outcome.result)
  ///     }
  ///
  /// A request that fails is an outcome and not the end: there is one outcome for every request, with
  /// its place in the list.
  ///
  /// **Backpressure.** At most `limit + readAhead` requests are held, on their way or over and not yet
  /// read. Then nothing further is started, nor read from the list, until an outcome is read.
  ///
  /// **Lifetime.** The batch begins when the first outcome is asked for, and goes on between two calls
  /// of `next()` in a task that the iterator owns. Every iterator is a batch of its own. When an
  /// iterator has returned nil or thrown, nothing of its batch is still at work.
  ///
  /// **Cancellation** of the reading task cancels what is in flight and awaits it, and `next()` throws
  /// a `CancellationError`. Dropping the iterator, as `break` does, cancels without awaiting.
  ///
  /// - Parameters:
  ///   - requests: The list.
  ///   - folder: Where the files go.
  ///   - limit: The most requests in flight at once; nil for that of the options. Less than 1 traps.
  ///   - order: The order in which outcomes are read.
  ///   - readAhead: How many outcomes may wait to be read; 256 by default. A negative number traps.
  ///   - journal: What remembers the folder's files for another call, if there is to be one.
  ///   - control: What looks into the batch and steers it; it serves one iterator.
  /// - Returns: A sequence of outcomes. It throws what keeps the whole batch from going on, such as a
  ///   full disk or a ``JournalError``, after the outcomes that there are.
  /// - Complexity: O(log *w*) a request for a fixed window of *w*; memory for `limit + readAhead`.
  public func outcomes<Requests: Sequence & Sendable>(
    of requests: Requests, to folder: OutputFolder, limit: Int? = nil,
    order: OutcomeOrder = .source, readAhead: Int? = nil,
    journal: (any DownloadJournal)? = nil, control: DownloadControl? = nil
  ) -> some AsyncSequence<DownloadOutcome<FileResult>, any Error> & Sendable
  where Requests.Element: DownloadRequestConvertible {
    stream(
      SequenceFeed(requests), to: folder, options(limit: limit), order, readAhead, journal, control)
  }

  /// Downloads a list that is still growing to files and streams their outcomes, with at most `limit`
  /// requests in flight.
  ///
  /// The same as with a list that is there, but that a request starts when the list brings it. After an
  /// error of the list nothing further is started; the sequence throws it after the outcomes of what
  /// was in flight.
  ///
  /// - Parameters:
  ///   - requests: The list.
  ///   - folder: Where the files go.
  ///   - limit: The most requests in flight at once; nil for that of the options. Less than 1 traps.
  ///   - order: The order in which outcomes are read.
  ///   - readAhead: How many outcomes may wait to be read; 256 by default. A negative number traps.
  ///   - journal: What remembers the folder's files for another call, if there is to be one.
  ///   - control: What looks into the batch and steers it; it serves one iterator.
  /// - Returns: A sequence of outcomes, as with a list that is there.
  /// - Complexity: As with a list that is there.
  public func outcomes<Requests: AsyncSequence & Sendable>(
    of requests: Requests, to folder: OutputFolder, limit: Int? = nil,
    order: OutcomeOrder = .source, readAhead: Int? = nil,
    journal: (any DownloadJournal)? = nil, control: DownloadControl? = nil
  ) -> some AsyncSequence<DownloadOutcome<FileResult>, any Error> & Sendable
  where Requests.Element: DownloadRequestConvertible {
    stream(
      AsyncSequenceFeed(requests), to: folder, options(limit: limit), order, readAhead, journal,
      control)
  }

  private func stream(
    _ feed: some RequestFeed, to folder: OutputFolder, _ options: DownloadOptions,
    _ order: OutcomeOrder, _ readAhead: Int?, _ journal: (any DownloadJournal)?,
    _ control: DownloadControl?
  ) -> OutcomeSequence<FileResult> {
    OutcomeSequence(order: order, window: window(options, readAhead)) { storage in
      try await self.stream(feed, to: .folder(folder), options, journal, control, to: storage)
    }
  }
}
