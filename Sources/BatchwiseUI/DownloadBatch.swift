// SPDX-License-Identifier: Apache-2.0

public import BatchwiseDownload
public import Observation

/// A batch of downloads to a folder, to be looked at and steered from the main actor.
///
///     let batch = DownloadBatch(urls, to: folder, limit: 3, transport: transport)
///     batch.start()
///     batch.limit = 5
///     batch.pause()
///     for row in batch.rows { print(row.url, row.state) }
///
/// Nothing happens before ``start()``. What a view reads of it, it is told of when that has changed: each
/// row by itself, the ``status`` of all, the ``phase``, the ``limit``. Rows and status follow what happens
/// at most ten times a second, and at once after a call of one of the methods. While nothing is in flight
/// and nothing changes, nothing runs.
///
/// **Order.** Requests start in the order in which they were added, as far as their hosts allow; those
/// asked for again come last. Requests with equal addresses are downloaded once, and the others skipped.
///
/// **Failures.** A request that fails is a row that says why, and the others go on. What ends the whole
/// batch, such as a full disk, is the sentence of ``Phase/failed(_:)``.
///
/// **Cancellation.** ``cancel()`` leaves what has not ended. A batch that nobody holds any more is cancelled
/// as well: what is in flight is given up, and without a journal no partial file is left. Tasks have no
/// part in it.
///
/// **Cost.** A change costs what the changed rows cost, however many there are, besides the transfers in
/// flight. All rows are kept, so it is not for a list without end.
@Observable
@MainActor
public final class DownloadBatch {
  /// The requests, in the order in which they were added.
  ///
  /// The array changes only when requests are added; what becomes of one is told by its row.
  public private(set) var rows: [Row] = []

  /// What the batch is doing.
  public private(set) var phase = Phase.ready

  /// What all rows come to.
  public private(set) var status = Status()

  private var currentLimit: Int
  /// The limit that was asked for, below which the options may let another one be found.
  @ObservationIgnored private var wantedLimit: Int

  @ObservationIgnored let live = LiveBatch(notesChanges: true)
  @ObservationIgnored let folder: OutputFolder
  @ObservationIgnored private let transport: any Transport
  @ObservationIgnored private let options: DownloadOptions
  @ObservationIgnored private let digests: (any DigestMaker)?
  @ObservationIgnored private let journal: (any DownloadJournal)?
  @ObservationIgnored private let clock: any Clock<Duration>

  /// The run that goes on, and the task in which it does; one at a time, owned by this object.
  @ObservationIgnored private var run: DownloadRun?
  @ObservationIgnored private var work: Task<Void, Never>?
  /// What was received in earlier runs of the batch.
  @ObservationIgnored private var receivedBefore: Int64 = 0
  @ObservationIgnored private var peakBefore = 0
  @ObservationIgnored private var isStarted = false
  @ObservationIgnored private var isPaused = false
  @ObservationIgnored private var problem: String?

  @ObservationIgnored var shelf: PictureShelf
  @ObservationIgnored var pictures = PictureWishes()
  /// How often it was looked at what has changed.
  @ObservationIgnored private(set) var looks = 0

  /// How often it is looked at most what has changed.
  nonisolated static let pace = Duration.milliseconds(100)

  /// Makes a batch, and starts nothing.
  ///
  /// - Parameters:
  ///   - requests: Addresses (`String`, `URL`) or `DownloadRequest` values.
  ///   - folder: Where the files go.
  ///   - limit: The most requests in flight at once; nil for that of the options.
  ///   - transport: What carries the bytes. It may serve several batches at once.
  ///   - options: How to go about it. Their limit for each host holds besides.
  ///   - digests: What computes checksums; without it a request with a checksum fails.
  ///   - journal: What remembers the folder's files for another batch, if there is to be one.
  ///   - thumbnailBytes: The most bytes of pictures in memory for all rows together; 0 for none.
  ///   - clock: What paces the updates.
  /// - Precondition: The limits are at least 1; no number of retries or bytes is negative.
  /// - Complexity: O(*n*) for *n* requests.
  public init(
    _ requests: some Sequence<some DownloadRequestConvertible>, to folder: OutputFolder,
    limit: Int? = nil, transport: any Transport, options: DownloadOptions = DownloadOptions(),
    digests: (any DigestMaker)? = nil, journal: (any DownloadJournal)? = nil,
    thumbnailBytes: Int = 64 << 20, clock: some Clock<Duration> = ContinuousClock()
  ) {
    let limit = limit ?? options.limit
    precondition(limit >= 1, "The limit must be at least 1, not \(limit)")
    precondition(thumbnailBytes >= 0, "\(thumbnailBytes) bytes: there cannot be fewer than 0")
    currentLimit = limit
    wantedLimit = limit
    self.folder = folder
    self.transport = transport
    self.options = options
    self.digests = digests
    self.journal = journal
    self.clock = clock
    shelf = PictureShelf(capacity: thumbnailBytes)
    add(requests)
  }

  // Whoever works for it holds it weakly, and is told here that nobody looks any more.
  deinit { work?.cancel() }

  // MARK: - Steering

  /// The most requests in flight at once; may be set at any time.
  ///
  /// With 0 nothing starts. Lowering it lets what is in flight go on. Where the options let the limit be
  /// found out, it moves by itself.
  ///
  /// - Precondition: It is not negative.
  public var limit: Int {
    get { currentLimit }
    set {
      precondition(newValue >= 0, "The limit must not be negative, and is \(newValue)")
      wantedLimit = newValue
      if currentLimit != newValue { currentLimit = newValue }
      run?.setLimit(newValue)
      look()
    }
  }

  /// Adds requests behind all others, in every phase; a batch that runs or is done begins with them by itself.
  ///
  /// - Complexity: O(*n*) for *n* further requests.
  public func add(_ requests: some Sequence<some DownloadRequestConvertible>) {
    live.add(requests.map { WorkItem($0) })
    look()
  }

  /// Starts what waits and what was left: the first time, when it is paused, after it was cancelled, and
  /// after it failed as a whole.
  ///
  /// What has failed by itself is asked for again by ``retryFailed()``. While it runs, this changes nothing.
  ///
  /// - Complexity: O(*n*) for *n* rows if some were left.
  public func start() {
    problem = nil
    isStarted = true
    isPaused = false
    if let run { run.resume() } else { begin() }
    if run != nil { live.start() }
    look()
  }

  /// Lets nothing more start until ``resume()``, from the moment of the call; what is in flight goes on.
  ///
  /// In a batch that does not run it changes nothing.
  public func pause() {
    guard phase == .running, let run else { return }
    isPaused = true
    run.pause()
    look()
  }

  /// Lets requests start again, if the batch is paused.
  public func resume() {
    guard isPaused, let run else { return }
    isPaused = false
    run.resume()
    look()
  }

  /// Leaves everything that has not ended; ``start()`` goes on with it.
  ///
  /// What is in flight is cancelled, and its row says so a moment later. A file that is whole already may
  /// still get its name. In a batch that neither runs nor is paused it changes nothing.
  ///
  /// - Complexity: O(*n*) for *n* rows.
  public func cancel() {
    look()
    guard phase == .running || phase == .paused, let run else { return }
    isStarted = false
    live.cancel(in: run)
    look()
  }

  /// Asks again for everything that has failed, and returns how much that is.
  ///
  /// It starts when the batch runs; at once if it is done, and otherwise after ``start()`` or ``resume()``.
  ///
  /// - Complexity: O(*n*) for *n* rows if some have failed.
  @discardableResult
  public func retryFailed() -> Int {
    defer { look() }
    return live.retryFailed()
  }

  /// Asks again for one request that has failed or was left, and returns whether it has.
  ///
  /// It starts when the batch runs, as with ``retryFailed()``. What can never be downloaded, such as a line
  /// that is no address, may be asked for as well, and fails again.
  ///
  /// - Complexity: O(1).
  @discardableResult
  public func retry(_ row: Row) -> Bool {
    defer { look() }
    return live.retry(row.id)
  }

  // MARK: - The run

  /// Begins a run, in a task that ends with it, or with this object.
  private func begin() {
    var options = options
    options.limit = max(1, wantedLimit)
    let run: DownloadRun
    do throws(OutputFolderError) {
      run = DownloadRun(
        transport: transport, folder: try folder.forNextRun(), options: options, digests: digests,
        journal: journal)
    } catch {
      problem = "\(error)"
      return
    }
    if wantedLimit == 0 { run.setLimit(0) }
    self.run = run
    let look: @Sendable () async -> Int? = { [weak self] in await self?.look() }
    work = Task { @concurrent [weak self, live, clock] in
      let report = await withTaskGroup { group in
        group.addTask { await Self.follow(run, live, clock, look) }
        let report = await run.run(live.source, reportingTo: live)
        group.cancelAll()
        return report
      }
      await self?.end(report)
    }
  }

  /// Looks at what has changed, at the pace, until the task is cancelled or nobody is there to look.
  private nonisolated static func follow(
    _ run: DownloadRun, _ live: LiveBatch, _ clock: some Clock<Duration>,
    _ look: @Sendable () async -> Int?
  ) async {
    while !Task.isCancelled, let version = await look() {
      try? await clock.sleep(for: pace)
      // Bytes that arrive are no change of the rows, so while some may it is looked by time alone.
      if run.status.inFlight == 0 { await live.waitForChange(since: version) }
    }
  }

  private func end(_ report: DownloadReport) {
    live.end()
    receivedBefore += report.status.received
    peakBefore = max(peakBefore, report.status.peakInFlight)
    run = nil
    work = nil
    problem = report.ending.sentence
    isPaused = false
    if problem == nil { isStarted = false }
    look()
  }

  // MARK: - Looking

  /// Shows what has changed, and returns the version of the rows that is shown.
  @discardableResult
  func look() -> Int {
    looks += 1
    let (changed, counts) = live.takeChanges()
    let status = run?.status
    show(changed)
    let parts = showTransfers()
    var shown = Status(counts)
    shown.inFlight = status?.inFlight ?? 0
    shown.peakInFlight = max(peakBefore, status?.peakInFlight ?? 0)
    shown.received = receivedBefore + (status?.received ?? 0)
    if shown.items > 0 {
      shown.fraction = min(1, (Double(shown.ended) + parts) / Double(shown.items))
    }
    if self.status != shown { self.status = shown }
    if options.findsLimit, let limit = status?.limit, limit != currentLimit { currentLimit = limit }
    let phase = phase(counts)
    if self.phase != phase { self.phase = phase }
    return counts.version
  }

  private func show(_ changed: [DownloadRow]) {
    var new: [Row] = []
    for row in changed {
      if row.id < rows.count { rows[row.id].show(row) } else { new.append(Row(row)) }
    }
    if !new.isEmpty { rows += new }
    loadThumbnails(ofArrived: changed)
  }

  /// Shows how far what is in flight has come, and returns how many whole requests that comes to.
  private func showTransfers() -> Double {
    var parts = 0.0
    for progress in run?.slowestTransfers(atMost: .max) ?? [] {
      guard let id = live.row(ofItem: progress.id), id < rows.count else { continue }
      let transfer = Row.Transfer(received: progress.received, total: progress.total)
      rows[id].show(transfer)
      parts += transfer.fraction ?? 0
    }
    return parts
  }

  private func phase(_ counts: LiveBatch.Counts) -> Phase {
    if let problem { return .failed(problem) }
    guard isStarted else { return run == nil ? .ready : .cancelled }
    if counts.isSettled { return .done }
    return isPaused ? .paused : .running
  }
}
