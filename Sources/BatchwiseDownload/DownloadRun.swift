// SPDX-License-Identifier: Apache-2.0

internal import Batchwise
internal import Synchronization

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Downloads the items of a list into a folder, at most `limit` of them at once.
///
/// The corridor from the source to the sink: items are read a window ahead, started in the order of
/// the list as far as their hosts allow, received by a transport, recorded in the journal, and given
/// their final names when they are whole. Memory does not grow with the list. What is decided is
/// decided in ``DownloadState``; this class holds the lock and acts.
package final class DownloadRun: Sendable {
  let context: DownloadContext
  private let transport: any Transport
  private let recovery: Recovery
  /// Nil where bodies go to memory.
  private let settler: Settler?
  private let guarded: Mutex<Guarded>
  private let received = Atomic<Int>(0)
  private let isCancelled = Atomic<Bool>(false)
  /// The run's clock, and what wakes it when time alone changes something.
  private let alarm = Alarm.shared(for: ContinuousClock())

  /// Raised when there is room for more items, or when the run shall end.
  private let listSignal = Signal()
  /// Raised when there is news to settle, or when the run is over.
  private let newsSignal = Signal()
  /// Raised when nothing more shall be read.
  private let stopSignal = Signal()
  /// Who looks at the run, if anybody does.
  private let watcher: RunWatcher?
  /// What is called for news where items come one by one and no task settles them.
  private let onNews: (@Sendable (DownloadRun) -> Void)?

  private struct Guarded {
    var state: DownloadState
    /// Those in flight, by the numbers of their items.
    var downloads: [Int: Download] = [:]
    /// When the alarm rings next, and what takes that back once it is set.
    var wake: (time: Duration, number: Int, id: Alarm.ID?)?
    /// How often the alarm was set.
    var wakes = 0
    var hasRun = false
    /// Whether no further item will be read.
    var hasRead = false
  }

  /// Prepares one run.
  ///
  /// - Parameters:
  ///   - transport: What carries the bytes. It may serve several downloaders at once.
  ///   - folder: Where the files go.
  ///   - options: How to go about it.
  ///   - digests: What computes checksums; without it a list's checksum fails its item.
  ///   - journal: What remembers the run for the next one, if there is to be a next one.
  /// - Precondition: The limits are at least 1, and no number of retries is negative.
  package convenience init(
    transport: any Transport, folder: OutputFolder, options: DownloadOptions = DownloadOptions(),
    digests: (any DigestMaker)? = nil, journal: (any DownloadJournal)? = nil
  ) {
    self.init(
      transport, to: .folder(folder), options: options, digests: digests, journal: journal)
  }

  init(
    _ transport: any Transport, to destination: BodyDestination, options: DownloadOptions,
    digests: (any DigestMaker)?, journal: (any DownloadJournal)? = nil,
    watcher: RunWatcher? = nil, onNews: (@Sendable (DownloadRun) -> Void)? = nil
  ) {
    precondition(options.limit >= 1, "The limit must be at least 1, not \(options.limit)")
    precondition(
      options.limitPerHost >= 1,
      "The limit per host must be at least 1, not \(options.limitPerHost)")
    precondition(options.retries >= 0, "\(options.retries) retries: there cannot be fewer than 0")
    self.transport = transport
    self.watcher = watcher
    self.onNews = onNews
    context = DownloadContext(destination: destination, options: options, digests: digests)
    let folder = destination.folder
    if journal == nil { folder?.keepPartialsForThisRunOnly() }
    recovery = Recovery(journal: journal, folder: folder, digests: digests, options: options)
    settler = folder.map {
      Settler(journal: journal, folder: $0, collisions: options.collisions)
    }
    let openFiles = folder == nil ? .max : OpenFiles.most
    guarded = Mutex(Guarded(state: DownloadState(options: options, openFiles: openFiles)))
  }

  /// One consistent view of the run, cheap enough to ask for many times a second.
  package var status: DownloadStatus {
    var status = guarded.withLock { $0.state.status }
    status.received = Int64(received.load(ordering: .relaxed))
    return status
  }

  /// How far the transfers in flight have come, those first that have taken longest.
  ///
  /// - Complexity: O(*n* log *n*) for *n* in flight.
  package func slowestTransfers(atMost count: Int) -> [TransferProgress] {
    let downloads = guarded.withLock { Array($0.downloads.values) }
    return Array(downloads.map(\.progress).sorted { $0.duration > $1.duration }.prefix(count))
  }

  /// Downloads the items of the source, and reports what happens to the sink.
  ///
  /// Items start in the order of the source, but those of a host that has enough in flight or asks
  /// to be left alone are passed by; they end in whichever order they do. One item's failure does not
  /// touch the others. When the calling task is cancelled nothing more starts, and the items in
  /// flight are cancelled, awaited, and left to the next run. To let them finish, call ``stop()``
  /// instead.
  ///
  /// - Complexity: O(log *w*) an item for a fixed window of *w*; memory for `limit` transfers and
  ///   that window.
  /// - Returns: What the run came to, after the sink has received the last event.
  /// - Precondition: It is called once.
  package func run(
    _ source: some WorkSource, reportingTo sink: some EventSink
  ) async -> DownloadReport {
    let isFirst = guarded.withLock { !exchange(&$0.hasRun, with: true) }
    precondition(isFirst, "A downloader runs once; make another one for another list")
    let start = ContinuousClock.now
    await recovery.removeAbandonedPartials()
    await withTaskCancellationHandler {
      async let reading: Void = read(source)
      await settle(reportingTo: sink)
      await reading
    } onCancel: {
      cancel()
    }
    context.destination.folder?.removeEmptyPartials()
    // A deadline that nobody waits for would stay until its time has come.
    if let wake = guarded.withLock({ $0.wake.take()?.id }) { alarm.cancel(wake) }
    let ending = guarded.withLock { $0.state.ending }
    return DownloadReport(status: status, duration: .now - start, ending: ending ?? .listDone)
  }

  /// Begins an orderly stop: nothing more is read or started, and what is in flight goes on.
  ///
  /// The run then ends as soon as nothing is in flight. Calling it again changes nothing.
  package func stop() { stop(.stopped) }

  private func stop(_ reason: DownloadReport.Ending) { update { $0.stop(reason, at: $1) } }

  /// Lets nothing more start until ``resume()``; what is in flight goes on.
  package func pause() { update { state, _ in state.setPaused(true) } }

  /// Lets items start again.
  package func resume() { update { state, _ in state.setPaused(false) } }

  /// Sets the most items in flight at once; 0 lets none start, and what is in flight goes on.
  ///
  /// - Precondition: It is not negative.
  package func setLimit(_ limit: Int) {
    precondition(limit >= 0, "The limit must not be negative, and is \(limit)")
    update { state, _ in state.choose(limit: limit) }
  }

  /// Stops, and cancels what is in flight.
  func cancel() {
    isCancelled.store(true, ordering: .sequentiallyConsistent)
    stop()
    context.destination.store?.close()
    for download in guarded.withLock({ Array($0.downloads.values) }) { transport.cancel(download) }
  }

  // MARK: - The list

  /// Reads the source while there is room, until it ends or the run is stopped.
  private func read(_ source: some WorkSource) async {
    await withTaskGroup { group in
      group.addTask { await self.readItems(of: source) }
      // A source may be silent for ever, so stopping must be able to cancel it.
      group.addTask { await self.stopSignal.waitUnlessCancelled() }
      await group.next()
      group.cancelAll()
    }
    // What a stop has left is news, and the run is not over before.
    guarded.withLock { $0.hasRead = true }
    update { _, _ in }
  }

  private func readItems(of source: some WorkSource) async {
    var source = source
    var read = 0
    while !Task.isCancelled {
      let room = guarded.withLock { $0.state.room }
      guard room > 0 else {
        await listSignal.waitUnlessCancelled()
        continue
      }
      let items: [WorkItem]?
      do {
        items = try await source.next(upTo: room)
      } catch {
        if Task.isCancelled { break }
        let ending = (error as? ListFormatError).map(DownloadReport.Ending.listNotUnderstood)
        return stop(ending ?? .listUnreadable(String(describing: error)))
      }
      if let items {
        // The run itself may not have heard of it yet; what comes now is left and not begun.
        if Task.isCancelled { stop() }
        await add(items, from: read + 1)
        read += items.count
      } else if !Task.isCancelled {
        return update { state, _ in state.listEnded() }
      }
    }
    await add(source.takeBuffered(), from: read + 1)
  }

  /// Finds out what is to be done about items of the list, the first of which has that number.
  private func add(_ items: [WorkItem], from first: Int) async {
    let entries: [ListEntry]
    do throws(JournalError) {
      entries = try await recovery.entries(for: items, from: first)
    } catch {
      stop(.journalFailed(error))
      entries = items.enumerated().map { offset, item in
        recovery.entry(for: item, number: first + offset, .leave)
      }
    }
    inParts(entries) { part in update { $0.add(part, at: $1) } }
  }

  // MARK: - What downloads call, on the transport's thread or where digests are made

  /// Begins transfers for downloads in flight, and ends them again if the run has been cancelled.
  func request(_ transfers: [Transfer], for downloads: [Download]) {
    transport.start(transfers)
    // A cancellation that came before the start found nothing to cancel.
    if isCancelled.load(ordering: .sequentiallyConsistent) { downloads.forEach(transport.cancel) }
    for download in downloads where download.isAbandoned.load(ordering: .sequentiallyConsistent) {
      transport.cancel(download)
    }
  }

  /// A transfer has ended.
  func ended(_ download: Download, _ outcome: DownloadState.Outcome) {
    update(ended: download) { $0.ended(download.job.id, outcome, at: $1) }
  }

  /// The digests of a whole file are known.
  func judged(_ download: Download, _ file: Result<WholeFile, DownloadFailure>) {
    update { $0.judged(download.job.id, file, at: $1) }
  }

  /// What has come of a file is kept from now on.
  func kept(_ download: Download, _ resume: ResumePoint) {
    update { state, _ in state.kept(download.job.id, resume) }
  }

  func countReceived(_ bytes: Int) {
    received.add(bytes, ordering: .relaxed)
    watcher?.note()
  }

  // MARK: - The one way to change the state

  /// Changes the state, and then does what follows from it once the lock is gone.
  private func update(
    ended: Download? = nil, _ change: (inout DownloadState, DownloadState.Moment) -> Void
  ) {
    let moment = DownloadState.Moment(time: alarm.now, date: Date())
    let (downloads, hasRoom, hasNews, isStopped, wake) = guarded.withLock { guarded in
      if let ended { guarded.downloads[ended.job.id] = nil }
      change(&guarded.state, moment)
      let downloads = guarded.state.admit(at: moment).map { Download($0, of: self) }
      for download in downloads { guarded.downloads[download.job.id] = download }
      return (
        downloads, guarded.state.room > 0, guarded.state.hasNews, guarded.state.ending != nil,
        guarded.state.nextWake(at: moment.time)
      )
    }
    if !downloads.isEmpty { request(downloads.compactMap { $0.firstTransfer() }, for: downloads) }
    if hasRoom { listSignal.raise() }
    if hasNews { if let onNews { onNews(self) } else { newsSignal.raise() } }
    if isStopped { stopSignal.raise() }
    if let wake { ring(at: wake) }
    watcher?.note()
  }

  /// Sees to it that the state is asked again at that time.
  private func ring(at time: Duration) {
    // Noted before it is set: it may ring, or be set to a sooner time, before the setting returns.
    let noted = guarded.withLock { guarded -> (number: Int, older: Alarm.ID?)? in
      if let wake = guarded.wake, wake.time <= time { return nil }
      guarded.wakes += 1
      let older = guarded.wake?.id
      guarded.wake = (time, guarded.wakes, nil)
      return (guarded.wakes, older)
    }
    guard let (number, older) = noted else { return }
    if let older { alarm.cancel(older) }
    let id = alarm.set(at: time) { [weak self] in self?.rang(number) }
    let isNext = guarded.withLock { guarded in
      guard guarded.wake?.number == number else { return false }
      guarded.wake?.id = id
      return true
    }
    if !isNext { alarm.cancel(id) }
  }

  private func rang(_ number: Int) {
    guarded.withLock { if $0.wake?.number == number { $0.wake = nil } }
    update { _, _ in }
  }

  // MARK: - Items that come one by one

  /// Checks an item that comes from no list.
  func entry(for item: WorkItem) -> ListEntry { recovery.entry(for: item, number: 0) }

  /// How long an item has been on its way.
  func duration(of job: DownloadJob) -> Duration {
    let now = alarm.now
    return now - (job.began?.first ?? now)
  }

  /// Adds an item that comes from no list, and returns its number.
  func add(_ entry: ListEntry) -> Int {
    var id = 0
    update { state, moment in
      state.add([entry], at: moment)
      id = state.status.read
    }
    return id
  }

  /// Ends an item that nobody wants any more; it is left, unless it is whole before that.
  func abandon(_ id: Int) {
    update { $0.abandon(id, at: $1) }
    context.destination.store?.cancel(id)
    guard let download = guarded.withLock({ $0.downloads[id] }) else { return }
    download.isAbandoned.store(true, ordering: .sequentiallyConsistent)
    context.destination.store?.cancel(id)
    transport.cancel(download)
  }

  /// Takes out what has happened, for somebody who settles it at once.
  func takeNews() -> [DownloadNews] { guarded.withLock { $0.state.takeNews() } }

  /// Takes note of what has come of a whole file.
  func settled(_ file: WholeFile, _ settlement: Settlement) {
    update { $0.settled(file.job.id, settlement, at: $1) }
  }

  // MARK: - The journal, the names and the sink

  /// How long news may gather before it is settled, so that a fast run does so rarely.
  private static let gathering = Duration.milliseconds(4)

  private func settle(reportingTo sink: some EventSink) async {
    while true {
      // Not cut short by cancellation: what is in flight is awaited, and reported if it is done.
      await newsSignal.wait()
      if !guarded.withLock({ $0.state.isOver }) { try? await Task.sleep(for: Self.gathering) }
      let (news, isOver) = guarded.withLock {
        ($0.state.takeNews(), $0.state.isOver && $0.hasRead)
      }
      if !news.isEmpty { await settle(news, reportingTo: sink) }
      if isOver, news.isEmpty { return }
    }
  }

  private func settle(_ news: [DownloadNews], reportingTo sink: some EventSink) async {
    let settled: [(WholeFile, Settlement)]
    var failure: JournalError?
    do throws(JournalError) {
      settled =
        try await settler?.settle(news)
        ?? news.compactMap(\.file).map { ($0, $0.keepBody(in: context.destination.store)) }
    } catch {
      settled = news.compactMap(\.file).map { ($0, .left) }
      failure = error
    }
    let events = events(of: news, settled)
    let unfinished =
      news.compactMap(\.unfinished)
      + settled.compactMap { $1.isFinished ? nil : $0.job.remains }
    let naming = context.options.naming
    await sink.receive(
      events, unfinished: unfinished.map { $0.item.asUnfinished(naming, path: $0.path) })
    // First, for with its last item settled a run is over, and has ended for no other reason.
    if let failure { stop(.journalFailed(failure)) }
    inParts(settled) { part in
      update { state, moment in
        for (file, settlement) in part { state.settled(file.job.id, settlement, at: moment) }
      }
    }
    // There is room for further news, or none will come.
    update { _, _ in }
  }

  /// Goes through many changes in parts, so that none holds the lock for long: the transport's thread
  /// would have to sleep until it is free.
  private func inParts<Change>(_ changes: [Change], _ change: (ArraySlice<Change>) -> Void) {
    for start in stride(from: 0, to: changes.count, by: 32) {
      change(changes[start...].prefix(32))
    }
  }

  /// What the sink is told, in the order in which it happened.
  private func events(
    of news: [DownloadNews], _ settled: [(WholeFile, Settlement)]
  ) -> [DownloadEvent] {
    let date = Date()
    var rest = settled[...]
    return news.compactMap { news in
      guard news.file != nil, let (file, settlement) = rest.popFirst() else { return news.event }
      let (item, job) = (file.job.item, file.job)
      return settlement.kind(attempts: job.attempts, duration: duration(of: job)).map { kind in
        DownloadEvent(
          time: date, id: job.id, line: item.line, url: item.address.redacted, kind: kind)
      }
    }
  }
}
