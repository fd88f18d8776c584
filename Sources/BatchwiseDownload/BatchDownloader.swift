// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Downloads the items of a list into a folder, at most `limit` of them at once.
///
/// The corridor from the source to the sink: items are read a window ahead, started in the order of
/// the list, received by a transport, and given their final names when they are whole. Memory does
/// not grow with the list. What is decided is decided in ``DownloadState``; this class holds the
/// lock and acts.
public final class BatchDownloader: Sendable {
  let folder: OutputFolder
  let timeouts: TransferTimeouts
  private let transport: any Transport
  private let guarded: Mutex<Guarded>
  private let received = Atomic<Int>(0)
  private let isCancelled = Atomic<Bool>(false)

  /// Raised when there is room for more items, or when the run shall end.
  private let listSignal = Signal()
  /// Raised when there are events to report, or when the run is over.
  private let reportSignal = Signal()
  /// Raised when nothing more shall be read.
  private let stopSignal = Signal()

  private struct Guarded {
    var state: DownloadState
    /// Those in flight, by the numbers of their items.
    var downloads: [Int: Download] = [:]
    var hasRun = false
  }

  /// Prepares one run.
  ///
  /// - Parameters:
  ///   - transport: What carries the bytes. It may serve several downloaders at once.
  ///   - folder: Where the files go.
  ///   - limit: The most items in flight at once, at least 1.
  ///   - timeouts: How long a transfer waits before it gives up.
  /// - Precondition: `limit` is at least 1.
  public init(
    transport: any Transport, folder: OutputFolder, limit: Int,
    timeouts: TransferTimeouts = TransferTimeouts()
  ) {
    precondition(limit >= 1, "The limit must be at least 1, not \(limit)")
    self.transport = transport
    self.folder = folder
    self.timeouts = timeouts
    guarded = Mutex(Guarded(state: DownloadState(limit: limit)))
  }

  /// One consistent view of the run, cheap enough to ask for many times a second.
  public var status: DownloadStatus {
    var status = guarded.withLock { $0.state.status }
    status.received = Int64(received.load(ordering: .relaxed))
    return status
  }

  /// Downloads the items of the source, and reports what happens to the sink.
  ///
  /// Items start in the order of the source, and end in whichever order they do. One item's failure
  /// does not touch the others. When the calling task is cancelled nothing more starts, and the
  /// items in flight are cancelled, awaited, and left to the next run. To let them finish, call
  /// ``stop()`` instead.
  ///
  /// - Complexity: O(1) an item; memory for `limit` transfers and a fixed window.
  /// - Returns: What the run came to, after the sink has received the last event.
  /// - Precondition: It is called once.
  public func run(
    _ source: some WorkSource, reportingTo sink: some EventSink
  ) async -> DownloadReport {
    let isFirst = guarded.withLock { !exchange(&$0.hasRun, with: true) }
    precondition(isFirst, "A downloader runs once; make another one for another list")
    let start = ContinuousClock.now
    await withTaskCancellationHandler {
      async let reading: Void = read(source)
      await report(to: sink)
      await reading
    } onCancel: {
      cancel()
    }
    let ending = guarded.withLock { $0.state.ending }
    return DownloadReport(status: status, duration: .now - start, ending: ending ?? .listDone)
  }

  /// Begins an orderly stop: nothing more is read or started, and what is in flight goes on.
  ///
  /// The run then ends as soon as nothing is in flight. Calling it again changes nothing.
  public func stop() { update { $0.stop(.stopped) } }

  /// Stops, and cancels what is in flight.
  private func cancel() {
    isCancelled.store(true, ordering: .sequentiallyConsistent)
    stop()
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
  }

  private func readItems(of source: some WorkSource) async {
    var source = source
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
        if !Task.isCancelled { update { $0.stop(.listUnreadable(String(describing: error))) } }
        return
      }
      // A cancelled source may say anything, even that the list has ended in the midst of a line.
      if Task.isCancelled { return }
      guard let items else { return update { $0.listEnded() } }
      let plans = items.map { item in
        Result { () throws(DownloadFailure) in try PlannedItem(item) }
      }
      update { $0.add(items, plans: plans) }
    }
  }

  // MARK: - What downloads call, on the transport's thread

  /// Begins transfers for downloads in flight, and ends them again if the run has been cancelled.
  func request(_ transfers: [Transfer], for downloads: [Download]) {
    transport.start(transfers)
    // A cancellation that came before the start found nothing to cancel.
    if isCancelled.load(ordering: .sequentiallyConsistent) { downloads.forEach(transport.cancel) }
  }

  func finished(_ download: Download, _ outcome: DownloadState.Outcome) {
    update(finished: download) { $0.finished(download.admitted, outcome) }
  }

  func countReceived(_ bytes: Int) { received.add(bytes, ordering: .relaxed) }

  // MARK: - The one way to change the state

  /// Changes the state, and then does what follows from it once the lock is gone.
  private func update(finished: Download? = nil, _ change: (inout DownloadState) -> Void) {
    let (downloads, hasRoom, hasNews, isStopped) = guarded.withLock { guarded in
      if let finished { guarded.downloads[finished.admitted.item.id] = nil }
      change(&guarded.state)
      let downloads = guarded.state.admit().map { Download($0, of: self) }
      for download in downloads { guarded.downloads[download.admitted.item.id] = download }
      return (
        downloads, guarded.state.room > 0, guarded.state.hasNews, guarded.state.ending != nil
      )
    }
    if !downloads.isEmpty { request(downloads.map(\.firstTransfer), for: downloads) }
    if hasRoom { listSignal.raise() }
    if hasNews { reportSignal.raise() }
    if isStopped { stopSignal.raise() }
  }

  // MARK: - The sink

  /// How long events may gather before the sink gets them, so that a fast run wakes it rarely.
  private static let gathering = Duration.milliseconds(10)

  private func report(to sink: some EventSink) async {
    while true {
      // Not cut short by cancellation: what is in flight is awaited, and reported if it is done.
      await reportSignal.wait()
      if !guarded.withLock({ $0.state.isOver }) { try? await Task.sleep(for: Self.gathering) }
      let (events, isOver) = guarded.withLock { ($0.state.takeEvents(), $0.state.isOver) }
      if !events.isEmpty {
        await sink.receive(events)
        update { _ in }  // What was held back by waiting events may start now.
      }
      if isOver { return }
    }
  }
}
