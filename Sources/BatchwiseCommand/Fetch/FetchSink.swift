// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Where the events of a run go: the events file, the lines on standard output, and the failures
/// that the summary names.
final class FetchSink: EventSink {
  private let display: Display
  private let writer: EventWriter?
  private let describe: (@Sendable (DownloadEvent) -> String?)?
  private let stop: @Sendable () -> Void
  private let groups = Mutex(FailureGroups())
  private let lost = Mutex<SystemError?>(nil)

  /// Makes a sink that calls `stop` when what happens can no longer be told, for nothing more should
  /// be done that nobody would hear of.
  init(
    _ display: Display, _ writer: EventWriter?,
    _ describe: (@Sendable (DownloadEvent) -> String?)?, stop: @escaping @Sendable () -> Void
  ) {
    self.display = display
    self.writer = writer
    self.describe = describe
    self.stop = stop
  }

  /// The failures, grouped by reason, as lines of text.
  var failures: String { groups.withLock { $0.text } }

  /// Why the events, or the lines on standard output, could not be written, or nil.
  var writeError: SystemError? { lost.withLock { $0 } }

  func receive(_ events: [DownloadEvent]) async {
    groups.withLock { groups in
      for event in events {
        if case .failed(let failure, _) = event.kind { groups.add(event, failure) }
      }
    }
    if let describe {
      let text = events.compactMap(describe).map { $0 + "\n" }.joined()
      note(display.write(text, to: .standardOutput))
    }
    // Lines that nobody reads are not made: writing their times took more than all else here.
    guard writer != nil else { return }
    // In parts, for thousands of events may have waited, and text takes more memory than they do.
    for start in stride(from: 0, to: events.count, by: 256) {
      await write(events[start...].prefix(256).map(EventLine.init))
    }
  }

  /// Writes lines of the events file, if there is one.
  func write(_ lines: [EventLine]) async {
    if let writer { note(await writer.write(lines)) }
  }

  /// Looks once a second whether the reader is still there, who may go while nothing happens.
  func watchReader() async {
    guard let stream = describe == nil ? writer?.stream : .standardOutput else { return }
    while !stream.hasLostReader {
      guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
    }
    note(SystemError(EPIPE))
  }

  private func note(_ failure: SystemError?) {
    guard let failure else { return }
    lost.withLock { $0 = $0 ?? failure }
    stop()
  }
}
