// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import CurlTransport
internal import Dispatch

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
    let source = try openList()
    let folder = try openFolder()
    let writer = try openEvents()
    let transport: CurlTransport
    do throws(CurlTransportError) {
      transport = try CurlTransport(userAgent: "batchwise/\(batchwiseVersion)")
    } catch {
      throw Refusal(.inputOutput, error.description)
    }
    // Writing to a reader that has gone is an error to deal with, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    let downloader = BatchDownloader(transport: transport, folder: folder, limit: limit())
    return await follow(downloader, of: source, writer)
  }

  /// Runs the downloader with its display, its events and its signals.
  private func follow(
    _ downloader: BatchDownloader, of source: some WorkSource, _ writer: EventWriter?
  ) async -> ExitStatus {
    let display = Display(style)
    let sink = FetchSink(display, writer, describe) { downloader.stop() }
    let run = Task { await downloader.run(source, reportingTo: sink) }
    let signals = InterruptSignals {
      downloader.stop()
      Task {
        try? await Task.sleep(for: Self.grace)
        run.cancel()
      }
    }
    await writer?.write([.run(limit: downloader.status.limit, output: options.output)])
    let watching = Task { await display.follow(downloader) }
    let report = await run.value
    watching.cancel()
    await watching.value
    await writer?.write([.summary(report)])

    if !options.isQuiet || report.status.failed > 0 { display.write(sink.failures) }
    if !options.isQuiet { display.write(summaryText(report)) }
    return status(of: report, signals.status, writer?.failure, display)
  }

  /// What the run came to, for the shell, with a word to the person where one is needed.
  private func status(
    of report: DownloadReport, _ signal: ExitStatus?, _ writeError: Int32?, _ display: Display
  ) -> ExitStatus {
    switch report.ending {
    case .diskFull:
      display.write("batchwise: the disk is full; what is done is safe. Make room and run it again.\n")
      return .inputOutput
    case .listUnreadable(let cause):
      display.write("batchwise: the list cannot be read on: \(cause)\n")
      return .inputOutput
    case .stopped, .listDone: break
    }
    if let signal { return signal }
    if let writeError {
      if writeError == EPIPE { return .interrupted }
      display.write("batchwise: the events cannot be written: \(SystemError(writeError))\n")
      return .inputOutput
    }
    return report.status.failed > 0 ? .someFailed : .success
  }

  private var style: Display.Style {
    if options.isQuiet { return .none }
    switch options.progress {
    case .never: return .none
    case .always: return .bar
    case .auto: return OutputStream.standardError.isTerminal ? .bar : .lines
    }
  }
}

/// Why a run could not begin.
struct Refusal: Error {
  let status: ExitStatus
  let message: String

  init(_ status: ExitStatus, _ message: String) {
    self.status = status
    self.message = message
  }
}
