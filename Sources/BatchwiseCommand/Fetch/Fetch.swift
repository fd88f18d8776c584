// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import CryptoDigest
internal import CurlTransport
internal import SQLiteJournal
internal import Synchronization

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// One run of `batchwise fetch`, or of the same on the demo's pictures.
struct Fetch {
  let options: FetchOptions
  /// What to say on standard output of each file, if anything.
  var describe: (@Sendable (DownloadEvent) -> String?)?

  /// How long transfers in flight may go on after an interrupt.
  private static let grace = Duration.seconds(2)

  /// What a run needs, opened before anything starts.
  private struct Parts {
    var list: Int32?
    /// Where the list begins, if it can be read again.
    var listStart: off_t?
    var downloader: DownloadRun
    var journal: SQLiteJournal?
    var writer: EventWriter?
    var unfinished: UnfinishedList?
    var page: FetchPage?
  }

  /// Downloads the list, and returns what the shell is to be told.
  ///
  /// - Throws: A refusal before anything was started, when the list, the folder, the journal or
  ///   another file cannot be opened.
  func run() async throws(Refusal) -> ExitStatus {
    let parts = try await open()
    let run = await parts.journal?.beginRun(limit: parts.downloader.status.limit)
    let (report, status) = await follow(parts)
    if let run { await parts.journal?.endRun(run, report) }
    await parts.journal?.close()
    return status
  }

  private func open() async throws(Refusal) -> Parts {
    let list = try openList()
    let transport: CurlTransport
    do throws(CurlTransportError) {
      transport = try CurlTransport(options: options.transport)
    } catch {
      throw Refusal(error)
    }
    let writer = try openEvents(besides: list)
    let unfinished = try openUnfinished(besides: list)
    let folder = try openFolder()
    let journal = try await openJournal(in: folder)
    // Not before the journal is this run's alone: they may be files that another run is writing.
    for stream in [writer?.stream, unfinished] { stream?.empty() }
    protect([list, writer?.stream.descriptor, unfinished?.descriptor], in: folder)
    var run = options.run
    OpenFiles.raise()
    run.limit = limit(for: OpenFiles.most)
    if let maxTime = options.maxTime { run.longestPause = min(run.longestPause, maxTime) }
    let downloader = DownloadRun(
      transport: transport, folder: folder, options: run, digests: CryptoDigest(), journal: journal)
    var page: FetchPage?
    if let options = options.page { page = try FetchPage(options, of: downloader, in: folder) }
    return Parts(
      list: list, listStart: list.flatMap(Self.start), downloader: downloader, journal: journal,
      writer: writer, unfinished: unfinished.map(UnfinishedList.init),
      page: page)
  }

  private func source(_ list: Int32?) -> FetchList {
    FetchList(
      arguments: options.urls,
      list: list.map { URLListReader(descriptor: $0, format: options.format) })
  }

  /// Runs the downloader with its display, its events and its signals.
  private func follow(_ parts: Parts) async -> (DownloadReport, ExitStatus) {
    let downloader = parts.downloader
    let display = Display(style)
    let (interrupts, interrupted) = AsyncStream<Void>.makeStream()
    let interrupt: @Sendable () -> Void = {
      downloader.stop()
      interrupted.yield()
    }
    InterruptSignals.shared.begin(stop: interrupt)
    let sink = FetchSink(
      display, parts.writer, parts.unfinished, parts.page?.live,
      options.isVerbose ? verboseLine : nil, describe, stop: interrupt)
    let limit = downloader.status.limit
    await sink.write([.run(limit: limit, output: options.output)])

    let isOverdue = Atomic(false)
    let list = source(parts.list)
    let reading = parts.page.map { page in
      Task {
        let reading = await page.read(list)
        if reading.ending != nil { downloader.stop() }
        return reading
      }
    }
    let run = Task {
      if let page = parts.page {
        await downloader.run(page.live.source, reportingTo: sink)
      } else {
        await downloader.run(list, reportingTo: sink)
      }
    }
    if let page = parts.page { show(page.address) }
    let besides = [
      Task { if let page = parts.page { await page.follow() } },
      Task { await display.follow(downloader) },
      Task { await sink.watchReader() },
      Task {
        for await _ in interrupts {
          try? await Task.sleep(for: Self.grace)
          run.cancel()
        }
      },
      Task {
        guard let maxTime = options.maxTime, (try? await Task.sleep(for: maxTime)) != nil else {
          return
        }
        isOverdue.store(true, ordering: .relaxed)
        interrupt()
      },
    ]
    var report = await run.value
    reading?.cancel()
    let read = await reading?.value
    if let ending = read?.ending { report.ending = ending }
    if let page = parts.page {
      page.runEnded()
      // It is there until it is interrupted, which cuts nothing short when all is done.
      if read?.isAtEnd == true, page.hasLeftNothing, report.ending == .stopped {
        report.ending = .listDone
      }
    }
    for task in besides {
      task.cancel()
      await task.value
    }
    await addUnread(parts, report, after: read?.count ?? report.status.read, to: sink)
    await sink.write([.summary(report)])

    let failures = sink.failures
    if !options.isQuiet || report.status.failed > 0 { display.write(failures.text) }
    if !options.isQuiet {
      if report.status.limit < limit, !options.run.findsLimit, options.page == nil {
        display.write(
          "batchwise: --limit \(limit): lowered to \(report.status.limit) on the way, for no more "
            + "files can be open\n")
      }
      display.write(summaryText(report))
      display.write(nextSteps(report, failures.reasons, hasJournal: options.usesJournal))
    }
    parts.page?.close()
    let signal =
      InterruptSignals.shared.status ?? (isOverdue.load(ordering: .relaxed) ? .someFailed : nil)
    return (report, status(of: report, signal, sink.failure, display))
  }

  /// Adds what a run that was stopped has not read of the list to what is not done.
  private func addUnread(
    _ parts: Parts, _ report: DownloadReport, after count: Int, to sink: FetchSink
  ) async {
    guard let unfinished = parts.unfinished else { return }
    if let live = parts.page?.live {
      sink.note(unfinished.add(live.unfinished(options.run.naming)), .unfinished)
    }
    guard report.ending != .listDone else { return }
    var list = parts.list
    if let file = list, let start = parts.listStart {
      lseek(file, start, SEEK_SET)
    } else {
      list = nil
    }
    let failure = await unfinished.add(
      restOf: source(list), after: count, options.run.naming)
    sink.note(failure, .unfinished)
  }

  /// What the run came to, for the shell, with a word to the person where one is needed.
  private func status(
    of report: DownloadReport, _ signal: ExitStatus?, _ failure: FetchSink.Failure?,
    _ display: Display
  ) -> ExitStatus {
    switch report.ending {
    case .diskFull:
      display.write(
        "batchwise: the disk is full; what is done is safe. Make room and run it again.\n")
      return .inputOutput
    case .journalFailed(let error):
      display.write("batchwise: \(shown(error.description))\n")
      return .inputOutput
    case .listNotUnderstood(let error):
      display.write("batchwise: --input \(shown(options.input ?? "-")): \(error)\n")
      return .usage
    case .listUnreadable(let cause):
      display.write("batchwise: the list cannot be read on: \(cause)\n")
      return .inputOutput
    case .stopped, .listDone: break
    }
    if let signal, report.ending == .stopped { return signal }
    if let failure {
      if failure.error.code == EPIPE { return .interrupted }
      let what =
        switch failure.output {
        case .events: options.events.map { "--events \(shown($0))" } ?? "standard output"
        case .unfinished: "--unfinished \(shown(options.unfinished ?? ""))"
        }
      display.write("batchwise: \(what): cannot be written: \(failure.error)\n")
      return .inputOutput
    }
    return report.status.failed > 0 ? .someFailed : .success
  }

  /// Says where the page is.
  private func show(_ address: String) {
    let stream = options.events == "-" ? OutputStream.standardError : .standardOutput
    stream.write("The page, for a browser of this machine: \(address)\n")
  }

  private var style: Display.Style {
    // A page shows it better, and nothing else has to be drawn while nothing happens.
    if options.isQuiet || options.page != nil { return .none }
    switch options.progress {
    case .never: return .none
    case .always: return .bar
    case .auto:
      // Events on the same terminal would tear the bar.
      let isShared = options.events == "-" && OutputStream.standardOutput.isTerminal
      return OutputStream.standardError.isTerminal && !isShared ? .bar : .lines
    }
  }
}

extension SQLiteJournal {
  /// Notes that a run begins; a run that cannot be noted is one that later runs know nothing of.
  fileprivate func beginRun(limit: Int) async -> Int64? {
    try? await begin(JournalRun(began: Date(), limit: limit))
  }

  fileprivate func endRun(_ number: Int64, _ report: DownloadReport) async {
    let ending: JournalRun.Ending =
      switch report.ending {
      case .listDone: .listDone
      case .stopped: .stopped
      case .diskFull: .diskFull
      case .listUnreadable, .listNotUnderstood: .listUnreadable
      case .journalFailed: .failed
      }
    try? await end(
      number,
      JournalRun.End(
        time: Date(), ending: ending, done: report.status.done, failed: report.status.failed,
        skipped: report.status.skipped, bytes: report.status.bytes))
  }
}
