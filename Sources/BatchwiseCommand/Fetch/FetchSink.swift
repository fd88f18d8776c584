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

/// Where the events of a run go: the events file, the lines for a person, the list of what is not
/// done, and the failures that the summary names.
final class FetchSink: EventSink {
  /// What could not be written.
  struct Failure: Sendable {
    var output: Output
    var error: SystemError

    enum Output { case events, unfinished }
  }

  private let display: Display
  private let writer: EventWriter?
  private let unfinished: UnfinishedList?
  private let live: LiveBatch?
  private let remark: (@Sendable (DownloadEvent) -> String?)?
  private let describe: (@Sendable (DownloadEvent) -> String?)?
  private let stop: @Sendable () -> Void
  private let groups = Mutex(FailureGroups())
  private let lost = Mutex<Failure?>(nil)

  /// Makes a sink.
  ///
  /// - Parameters:
  ///   - display: Where a person looks.
  ///   - writer: Where events are written.
  ///   - unfinished: Where the items go that are not done.
  ///   - live: The batch that a page shows, which knows itself what is not done, for that may change.
  ///   - remark: What is said of an event on the display.
  ///   - describe: What is said of an event on standard output.
  ///   - stop: Called when what happens can no longer be told, for nothing more should be done that
  ///     nobody would hear of.
  init(
    _ display: Display, _ writer: EventWriter?, _ unfinished: UnfinishedList?,
    _ live: LiveBatch?, _ remark: (@Sendable (DownloadEvent) -> String?)?,
    _ describe: (@Sendable (DownloadEvent) -> String?)?, stop: @escaping @Sendable () -> Void
  ) {
    self.display = display
    self.writer = writer
    self.unfinished = unfinished
    self.live = live
    self.remark = remark
    self.describe = describe
    self.stop = stop
  }

  /// The failures that stand, grouped by reason.
  var failures: FailureGroups {
    guard let live else { return groups.withLock { $0 } }
    var groups = FailureGroups()
    for row in live.rows([.failed]).rows {
      if let failure = row.failure { groups.add(failure, of: row.url, line: 0) }
    }
    return groups
  }

  /// What could not be written first, or nil.
  var failure: Failure? { lost.withLock { $0 } }

  func receive(_ events: [DownloadEvent], unfinished items: [WorkItem]) async {
    if live == nil, let unfinished { note(unfinished.add(items), .unfinished) }
    await receive(events)
    // Last, for what a page shows as failed may be asked for again at once, and the run has to be done
    // with it by then.
    await live?.receive(events, unfinished: items)
  }

  func receive(_ events: [DownloadEvent]) async {
    guard !events.isEmpty else { return }
    groups.withLock { groups in
      for event in events {
        if case .failed(let failure, _) = event.kind {
          groups.add(failure, of: event.url, line: event.line)
        }
      }
    }
    if let describe { note(display.write(lines(events, describe), to: .standardOutput), .events) }
    if let remark { display.write(lines(events, remark)) }
    // Lines that nobody reads are not made: writing their times took more than all else here.
    guard writer != nil else { return }
    // In parts, for thousands of events may have waited, and text takes more memory than they do.
    for start in stride(from: 0, to: events.count, by: 256) {
      await write(events[start...].prefix(256).map(EventLine.init))
    }
  }

  private func lines(
    _ events: [DownloadEvent], _ line: (DownloadEvent) -> String?
  ) -> String {
    events.compactMap(line).map { $0 + "\n" }.joined()
  }

  /// Writes lines of the events file, if there is one.
  func write(_ lines: [EventLine]) async {
    if let writer { note(await writer.write(lines), .events) }
  }

  /// Looks once a second whether the reader is still there, who may go while nothing happens.
  func watchReader() async {
    guard let stream = describe == nil ? writer?.stream : .standardOutput else { return }
    while !stream.hasLostReader {
      guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
    }
    note(SystemError(EPIPE), .events)
  }

  /// Notes that something could not be written.
  func note(_ error: SystemError?, _ output: Failure.Output) {
    guard let error else { return }
    lost.withLock { $0 = $0 ?? Failure(output: output, error: error) }
    stop()
  }
}
