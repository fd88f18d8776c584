// SPDX-License-Identifier: Apache-2.0

public import Dispatch

extension BatchDownloader {
  /// Downloads a list to files for Dispatch code, with at most `limit` requests in flight, and calls
  /// back when all is over.
  ///
  ///     let control = downloader.downloadAll(urls, to: folder, limit: 3, queue: .main) { status in
  ///       label.show("\(status.done) of \(status.items)")
  ///     } completion: { report in
  ///       for outcome in report.outcomes { show(outcome.request.url, outcome.result) }
  ///     }
  ///     control.cancel()  // at any time, from anywhere
  ///
  /// The call returns at once. A request that fails, by an HTTP status too, is an outcome and not the
  /// end. A file has its final name only when it is whole and right.
  ///
  /// **Order.** Requests start in the order of the list, as far as their hosts allow. The report has one
  /// outcome for every request, in the order of the list; equal requests have the same one.
  ///
  /// **Threads.** None is blocked, and a request that waits is a value in a list.
  ///
  /// **Callbacks.** `completion` is called exactly once, on `queue`. `progress` is called there before
  /// it, one call after the other, with the newest status; at most one call is on its way, so a slow queue
  /// misses those in between. Both are let go of after the last call.
  ///
  /// **Cancellation.** ``DownloadControl/cancel()`` cancels what is in flight and awaits it; then
  /// `completion` is called, and ``BatchReport/error`` says so. The task or thread that made the
  /// call has no part in it.
  ///
  /// **Lifetime.** A batch whose control nobody holds goes on to its end.
  ///
  /// - Parameters:
  ///   - requests: The list.
  ///   - folder: Where the files go.
  ///   - limit: The most requests in flight at once; nil for that of the options. Less than 1 traps.
  ///   - journal: What remembers the folder's files for another call, if there is to be one.
  ///   - control: What looks into the batch and steers it; a new one unless there is one already.
  ///   - queue: Where to call back; a concurrent one will do.
  ///   - progress: Called with the status when it has changed, and with the last one before the end.
  ///   - completion: Called when nothing of the batch is at work any more.
  /// - Returns: The control.
  /// - Complexity: O(1) for the caller; O(log *w*) a request for a fixed window of *w*, and memory for
  ///   the list and its outcomes.
  @discardableResult
  public func downloadAll<Requests: Collection & Sendable>(
    _ requests: Requests, to folder: OutputFolder, limit: Int? = nil,
    journal: (any DownloadJournal)? = nil, control: DownloadControl = DownloadControl(),
    queue: DispatchQueue, progress: (@Sendable (DownloadStatus) -> Void)? = nil,
    completion: @escaping @Sendable (BatchReport<FileResult>) -> Void
  ) -> DownloadControl where Requests.Element: DownloadRequestConvertible {
    begin(
      requests, to: .folder(folder), options(limit: limit), journal, control, queue, progress,
      completion)
  }

  /// Downloads a list into memory for Dispatch code, with at most `limit` requests in flight, and calls
  /// back when all is over.
  ///
  ///     downloader.downloadAll(urls, limit: 3, atMost: 64 << 20, queue: .main) { report in
  ///       for outcome in report.outcomes { show(outcome.offset, outcome.result) }
  ///     }
  ///
  /// The same as with files, but that no file is made and names of requests have no meaning.
  ///
  /// **The bound.** All bodies together hold at most `bound` bytes, at any time; the bytes of equal
  /// requests are there once. A body that does not fit fails with `too-large`, before any of it is held if
  /// its server announces its length, and the others go on.
  ///
  /// **Order, threads, callbacks, cancellation and lifetime** are those of
  /// ``downloadAll(_:to:limit:journal:control:queue:progress:completion:)``.
  ///
  /// - Parameters:
  ///   - requests: The list.
  ///   - limit: The most requests in flight at once; nil for that of the options. Less than 1 traps.
  ///   - bound: The most bytes of all bodies together. A negative number traps.
  ///   - control: What looks into the batch and steers it; a new one unless there is one already.
  ///   - queue: Where to call back; a concurrent one will do.
  ///   - progress: Called with the status when it has changed, and with the last one before the end.
  ///   - completion: Called when nothing of the batch is at work any more.
  /// - Returns: The control.
  /// - Complexity: O(1) for the caller; O(log *w*) a request for a fixed window of *w*, and memory for
  ///   the list, its outcomes and the bodies.
  @discardableResult
  public func downloadAll<Requests: Collection & Sendable>(
    _ requests: Requests, limit: Int? = nil, atMost bound: Int,
    control: DownloadControl = DownloadControl(), queue: DispatchQueue,
    progress: (@Sendable (DownloadStatus) -> Void)? = nil,
    completion: @escaping @Sendable (BatchReport<DownloadedBody>) -> Void
  ) -> DownloadControl where Requests.Element: DownloadRequestConvertible {
    let options = bodyOptions(limit)
    let store = BodyStore(capacity: bound, limit: options.limit, staysFull: true)
    return begin(
      requests, to: .memory(store), options, nil, control, queue, progress, completion)
  }

  /// Begins a batch that owns itself: Dispatch code has no task that could be its parent.
  ///
  /// Its task is made here and ends with the call of `completion`, which it sees to whatever happens.
  /// Nobody else holds the task, so nobody can cancel it; the control ends the run inside it.
  private func begin<Value: BatchValue>(
    _ requests: some Collection<some DownloadRequestConvertible> & Sendable,
    to destination: BodyDestination, _ options: DownloadOptions,
    _ journal: (any DownloadJournal)?, _ control: DownloadControl, _ queue: DispatchQueue,
    _ progress: (@Sendable (DownloadStatus) -> Void)?,
    _ completion: @escaping @Sendable (BatchReport<Value>) -> Void
  ) -> DownloadControl {
    Task {
      async let told: Void = Self.tell(progress, of: control, on: queue)
      let report: BatchReport<Value> = await report(
        requests.map { WorkItem($0) }, to: destination, options, journal, control)
      await told
      queue.async { completion(report) }
    }
    return control
  }

  /// Runs a batch to its end and gives every request its outcome.
  private func report<Value: BatchValue>(
    _ items: [WorkItem], to destination: BodyDestination, _ options: DownloadOptions,
    _ journal: (any DownloadJournal)?, _ control: DownloadControl
  ) async -> BatchReport<Value> {
    let outlet = OutcomeList<Value>(count: items.count)
    var error: (any Error)?
    do {
      defer { control.end() }
      let run = try run(to: destination, options, journal, control)
      try await Batch(
        to: outlet, store: destination.store, sink: control.sink, remembering: .all
      ).run(SequenceFeed(items), by: run)
    } catch let cause {
      error = cause
    }
    let outcomes = outlet.outcomes
    let isComplete = !outcomes.contains { $0 == nil }
    // What was cancelled when all was done has not ended early.
    if isComplete, error is CancellationError { error = nil }
    precondition(isComplete || error != nil, "A request is done and brought nothing")
    let rest = DownloadFailure(leftBy: error ?? CancellationError())
    return BatchReport(
      outcomes: zip(items, outcomes).enumerated().map { offset, request in
        let (item, outcome) = request
        return outcome
          ?? DownloadOutcome(
            offset: offset, request: item.downloadRequest,
            result: .failure(rest.with(url: WebAddress.shown(item.address))))
      }, error: error, status: control.status ?? DownloadStatus(limit: options.limit))
  }

  /// Tells of the status whenever it has changed, until the batch is over and has told the last one.
  ///
  /// The next change is looked at when the queue has run the last block, and the block itself looks for
  /// what is newest then.
  private static func tell(
    _ progress: (@Sendable (DownloadStatus) -> Void)?, of control: DownloadControl,
    on queue: DispatchQueue
  ) async {
    guard let progress else { return }
    var last: DownloadStatus?
    for await status in control.statusUpdates {
      last = await withCheckedContinuation { [last] continuation in
        queue.async {
          let status = control.status ?? status
          if status != last { progress(status) }
          continuation.resume(returning: status)
        }
      }
    }
  }
}
