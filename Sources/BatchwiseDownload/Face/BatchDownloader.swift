// SPDX-License-Identifier: Apache-2.0

/// Downloads lists of any length with a limit on how many are in flight, to files or into memory.
///
///     let downloader = BatchDownloader(transport: try CurlTransport())
///     let files = try await downloader.downloadAll(urls, to: folder, limit: 3)
///     let bodies = try await downloader.downloadAll(urls, limit: 3, atMost: 64 << 20)
///     for try await outcome in downloader.outcomes(of: urls, to: folder, limit: 3) { … }
///     let body = try await downloader.data(from: url)
///
/// Make one and keep it. Each call of `downloadAll`, and each reading of `outcomes`, is a batch with
/// a limit of its own; batches do not know of each other. All calls of ``data(from:)`` share one limit,
/// one pace for each host, and the transfers of what is equal.
///
/// **Lists.** A list is any sequence, asynchronous or not, of addresses (`String`, `URL`), of
/// ``DownloadRequest`` values, or of items of a list. It may be longer than memory, or still growing:
/// it is read a fixed window ahead of what is in flight.
///
/// **What starts when.** Requests start in the order of the list, as far as their hosts allow. A host
/// that has enough in flight, or asks to be left alone, is passed by. Attempts that failed are
/// repeated as the options say; a request that pauses is not in flight.
///
/// **Equal requests** of a batch, or of several calls of ``data(from:)``, that are in flight at the same
/// time are one transfer, and each gets its outcome.
public final class BatchDownloader: Sendable {
  /// How to go about it.
  public let options: DownloadOptions

  let transport: any Transport
  let digests: (any DigestMaker)?
  let shared: SharedDownloads

  /// How many finished outcomes may wait for their reader, unless it says otherwise.
  static let readAhead = 256

  /// Makes a downloader, and starts nothing.
  ///
  /// - Parameters:
  ///   - transport: What carries the bytes. It may serve several downloaders at once.
  ///   - options: How to go about it. Where a call names a limit, that takes the place of theirs.
  ///   - digests: What computes checksums; without it a request with a checksum fails.
  ///   - memory: The most bytes of bodies on their way for ``data(from:)``.
  /// - Precondition: The limits are at least 1, and no number of retries is negative.
  public init(
    transport: any Transport, options: DownloadOptions = DownloadOptions(),
    digests: (any DigestMaker)? = nil, memory: Int = 256 << 20
  ) {
    self.transport = transport
    self.options = options
    self.digests = digests
    shared = SharedDownloads(transport, options: options, digests: digests, capacity: memory)
  }

  /// Downloads one body into memory.
  ///
  /// All calls together have at most ``DownloadOptions/limit`` transfers in flight. Calls for equal
  /// requests that meet are one transfer: each gets the same bytes, which are there once. A body that
  /// finds no room waits until others have been handed over, and one that is longer than all the room
  /// fails with `too-large`.
  ///
  /// **Cancellation** of the calling task ends the call with a `CancellationError`, and leaves the
  /// transfer to those who wait for it too. The last of them cancels and awaits it.
  ///
  /// - Parameter request: An address or a request. Its name has no meaning here.
  /// - Returns: The body.
  /// - Throws: A ``DownloadFailure`` that names the address, or a `CancellationError`.
  /// - Complexity: O(log *n*) besides the transfer, where *n* wait.
  public func data(from request: some DownloadRequestConvertible) async throws -> DownloadedBody {
    try await shared.data(from: WorkItem(request))
  }

  // MARK: - Batches

  func gather<Value: BatchValue>(
    _ feed: some RequestFeed, to destination: BodyDestination, _ options: DownloadOptions,
    _ journal: (any DownloadJournal)?, _ control: DownloadControl?
  ) async throws -> [Value] {
    defer { control?.end() }
    let run = try run(to: destination, options, journal, control)
    try Task.checkCancellation()
    let outlet = OutcomeArray<Value>(onFailure: { run.cancel() })
    do {
      try await Batch(
        to: outlet, store: destination.store, sink: control?.sink, remembering: .all
      ).run(feed, by: run)
    } catch {
      throw outlet.failure ?? error
    }
    if let failure = outlet.failure { throw failure }
    return outlet.values()
  }

  func stream<Value: BatchValue>(
    _ feed: some RequestFeed, to destination: BodyDestination, _ options: DownloadOptions,
    _ journal: (any DownloadJournal)?, _ control: DownloadControl?,
    to storage: OutcomeStorage<Value>
  ) async throws {
    defer { control?.end() }
    let run = try run(to: destination, options, journal, control)
    try Task.checkCancellation()
    try await Batch(
      to: storage, store: destination.store, sink: control?.sink,
      remembering: Value.runKnowsDuplicates ? .latest(RecentValues<ItemKey>.capacity) : .nothing
    ).run(feed, by: run)
  }

  func run(
    to destination: BodyDestination, _ options: DownloadOptions,
    _ journal: (any DownloadJournal)?, _ control: DownloadControl?
  ) throws(OutputFolderError) -> DownloadRun {
    var destination = destination
    if case .folder(let folder) = destination { destination = .folder(try folder.forNextRun()) }
    let run = DownloadRun(
      transport, to: destination, options: options, digests: digests, journal: journal,
      watcher: control?.watcher)
    control?.begin(run)
    return run
  }

  /// The options of a batch with a limit of its own.
  func options(limit: Int?) -> DownloadOptions {
    var options = options
    if let limit {
      precondition(limit >= 1, "The limit must be at least 1, not \(limit)")
      options.limit = limit
    }
    return options
  }

  /// How many requests of a stream may have a place and not be read.
  func window(_ options: DownloadOptions, _ readAhead: Int?) -> Int {
    let readAhead = readAhead ?? Self.readAhead
    precondition(readAhead >= 0, "Reading ahead \(readAhead): it must not be negative")
    let (window, overflows) = options.limit.addingReportingOverflow(readAhead)
    return overflows ? .max : window
  }
}
