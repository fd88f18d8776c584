// SPDX-License-Identifier: Apache-2.0

public import BatchwiseDownload
internal import Synchronization

/// Keeps every event of a run, for a test to look at.
public final class EventLog: EventSink {
  private let kept = Mutex<[DownloadEvent]>([])

  public init() {}

  public func receive(_ events: [DownloadEvent]) async {
    kept.withLock { $0 += events }
  }

  public var events: [DownloadEvent] { kept.withLock { $0 } }

  /// What each item ended with, by its number; an item that ended twice has two.
  public var endings: [Int: [DownloadEvent.Kind]] {
    var endings: [Int: [DownloadEvent.Kind]] = [:]
    for event in events {
      if case .started = event.kind { continue }
      endings[event.id, default: []].append(event.kind)
    }
    return endings
  }
}
