// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import Synchronization

/// Where the events of a run go: the events file, the lines on standard output, and the failures
/// that the summary names.
final class FetchSink: EventSink {
  private let display: Display
  private let writer: EventWriter?
  private let describe: (@Sendable (DownloadEvent) -> String?)?
  private let stop: @Sendable () -> Void
  private let groups = Mutex(FailureGroups())

  /// - Parameter stop: Called when events can no longer be written, so that nothing more should be
  ///   done that nobody would hear of.
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

  func receive(_ events: [DownloadEvent]) async {
    groups.withLock { groups in
      for event in events {
        if case .failed(let failure, _) = event.kind { groups.add(event, failure) }
      }
    }
    if let describe {
      let text = events.compactMap(describe).map { $0 + "\n" }.joined()
      if !text.isEmpty { display.write(text, to: .standardOutput) }
    }
    if let writer {
      await writer.write(events.map(EventLine.init))
      if writer.failure != nil { stop() }
    }
  }
}
