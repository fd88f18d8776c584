// SPDX-License-Identifier: Apache-2.0

public import BatchwiseDownload
public import BatchwiseTesting

/// Keeps every event of a run, for a test to look at or to wait for.
public final class EventLog: EventSink {
  /// The events so far.
  public let kept = Watched<[DownloadEvent]>([])

  /// Makes an empty log.
  public init() {}

  /// Keeps the events.
  public func receive(_ events: [DownloadEvent]) async {
    kept.update { $0 += events }
  }

  /// The items that were told to be unfinished, in order.
  public let left = Watched<[WorkItem]>([])

  /// Keeps the items.
  public func receive(unfinished items: [WorkItem]) async { left.update { $0 += items } }

  /// All events so far.
  public var events: [DownloadEvent] { kept.value }

  /// What each item ended with, by its number; an item that ended twice has two.
  public var endings: [Int: [DownloadEvent.Kind]] {
    var endings: [Int: [DownloadEvent.Kind]] = [:]
    for event in events {
      if case .started = event.kind { continue }
      endings[event.id, default: []].append(event.kind)
    }
    return endings
  }

  /// The addresses of the items that were started, in order.
  public var startedURLs: [String] {
    events.filter { if case .started = $0.kind { true } else { false } }.map(\.url)
  }

  /// Which file each address was given, whether it was fetched now or unchanged.
  public var files: [String: String] {
    var files: [String: String] = [:]
    for event in events {
      switch event.kind {
      case .done(let file): files[event.url] = file.name
      case .skipped(_, let file?): files[event.url] = file
      default: break
      }
    }
    return files
  }

  /// Why each address failed that did.
  public var failures: [String: DownloadFailure] {
    var failures: [String: DownloadFailure] = [:]
    for event in events {
      if case .failed(let failure, _) = event.kind { failures[event.url] = failure }
    }
    return failures
  }
}
