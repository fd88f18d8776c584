// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import CurlTransport

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

  /// Downloads the list, and returns what the shell is to be told.
  ///
  /// - Throws: A refusal before anything was started, when the list, the folder or the events file
  ///   cannot be opened.
  func run() async throws(Refusal) -> ExitStatus {
    let list = try openList()
    let source = ArgumentsThenList(
      arguments: WorkList(addresses: options.urls),
      list: list.map { URLListReader(descriptor: $0, closesDescriptor: $0 != 0) })
    let folder = try openFolder()
    let writer = try openEvents(besides: list)
    let transport: CurlTransport
    do throws(CurlTransportError) {
      transport = try CurlTransport(userAgent: "batchwise/\(batchwiseVersion)")
    } catch {
      throw Refusal(.inputOutput, "no connection can be made", error.description)
    }
    var run = DownloadOptions()
    run.limit = limit()
    run.limitPerHost = run.limit
    let downloader = BatchDownloader(transport: transport, folder: folder, options: run)
    return await follow(downloader, of: source, writer)
  }

  /// Runs the downloader with its display, its events and its signals.
  private func follow(
    _ downloader: BatchDownloader, of source: some WorkSource, _ writer: EventWriter?
  ) async -> ExitStatus {
    let display = Display(style)
    let (interrupts, interrupted) = AsyncStream<Void>.makeStream()
    let interrupt: @Sendable () -> Void = {
      downloader.stop()
      interrupted.yield()
    }
    InterruptSignals.shared.begin(stop: interrupt)
    let sink = FetchSink(display, writer, describe, stop: interrupt)
    await sink.write([.run(limit: downloader.status.limit, output: options.output)])

    let run = Task { await downloader.run(source, reportingTo: sink) }
    let besides = [
      Task { await display.follow(downloader) },
      Task { await sink.watchReader() },
      Task {
        for await _ in interrupts {
          try? await Task.sleep(for: Self.grace)
          run.cancel()
        }
      },
    ]
    let report = await run.value
    for task in besides {
      task.cancel()
      await task.value
    }
    await sink.write([.summary(report)])

    if !options.isQuiet || report.status.failed > 0 { display.write(sink.failures) }
    if !options.isQuiet { display.write(summaryText(report)) }
    return status(of: report, InterruptSignals.shared.status, sink.writeError, display)
  }

  /// What the run came to, for the shell, with a word to the person where one is needed.
  private func status(
    of report: DownloadReport, _ signal: ExitStatus?, _ writeError: SystemError?,
    _ display: Display
  ) -> ExitStatus {
    switch report.ending {
    case .diskFull:
      display.write(
        "batchwise: the disk is full; what is done is safe. Make room and run it again.\n")
      return .inputOutput
    case .journalFailed(let error):
      display.write("batchwise: \(error)\n")
      return .inputOutput
    case .listUnreadable(let cause):
      display.write("batchwise: the list cannot be read on: \(cause)\n")
      return .inputOutput
    case .stopped, .listDone: break
    }
    if let signal { return signal }
    if let writeError {
      if writeError.code == EPIPE { return .interrupted }
      let what = options.events.map { "--events \(shown($0))" } ?? "standard output"
      display.write("batchwise: \(what): cannot be written: \(writeError)\n")
      return .inputOutput
    }
    return report.status.failed > 0 ? .someFailed : .success
  }

  private var style: Display.Style {
    if options.isQuiet { return .none }
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
