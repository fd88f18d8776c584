// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Something that happened to one item of a run.
///
/// Each item of the list ends with exactly one of ``Kind/done(_:)``, ``Kind/failed(_:attempts:)``
/// and ``Kind/skipped(_:file:)``, or is left to the next run and ends with none.
public struct DownloadEvent: Sendable, Equatable {
  /// When it happened.
  public var time: Date

  /// The item's number in this run, from 1.
  public var id: Int

  /// The number of the item's physical line, from 1; 0 when it comes from no list.
  public var line: Int

  /// The item's address without user name and password.
  public var url: String

  /// What happened.
  public var kind: Kind

  /// What can happen to an item.
  public enum Kind: Sendable, Equatable {
    /// The item was started; in flight from now on.
    case started(attempt: Int)
    /// The attempt failed, and that attempt follows after a pause; in flight no more until then.
    case retry(attempt: Int, DownloadFailure, delay: Duration)
    /// The item's file has its final name, and the journal knows it.
    case done(DownloadedFile)
    /// The item failed for good.
    case failed(DownloadFailure, attempts: Int)
    /// Nothing had to be downloaded, or to be kept. The file is named where it is known.
    case skipped(SkipReason, file: String?)
  }
}

/// A file that was downloaded.
public struct DownloadedFile: Sendable, Hashable {
  /// Its name, relative to the output folder.
  public var name: String
  /// Its length.
  public var bytes: Int64
  /// The status code of the answer that brought it.
  public var status: Int
  /// How often it was tried, the last time included.
  public var attempts: Int
  /// From the start of the first try to the final name.
  public var duration: Duration
  /// How far its bytes are known to be right.
  public var proof: Proof
  /// Its SHA-256, if it was computed.
  public var sha256: Checksum?

  /// How far the bytes of a file are known to be right; the raw values are the command's words.
  public enum Proof: String, Sendable {
    /// They come to the checksum that the list gave.
    case checksum
    /// They are as many as the server announced, or ended with the last chunk.
    case length
    /// Their end was told by the closing of the connection, which proves nothing.
    case unverified
  }
}

/// Why an item needed no download; the raw values are the command's words.
public enum SkipReason: String, Sendable {
  /// An earlier run is done with it, and its file is there.
  case alreadyDone = "already-done"
  /// The server says that the file has not changed, or it brought the same bytes again.
  case unchanged
  /// Something else has the name that the item wants.
  case collision
  /// The list names the same address before.
  case duplicate
}

/// Receives what happens in a run.
public protocol EventSink: Sendable {
  /// Receives the next events, in the order in which they happened.
  ///
  /// Called by one task, one call after the other. While a call lasts, events gather; when some
  /// thousands have, no further items are started until it returns.
  func receive(_ events: [DownloadEvent]) async

  /// Receives items that are neither done nor skipped: they have failed for good, or are left to the
  /// next run.
  ///
  /// They are as the list wrote them, with headers and passwords, so they are not to be shown.
  /// Called by the same task as ``receive(_:)``.
  func receive(unfinished items: [WorkItem]) async

  /// Receives both at once, by default one after the other, and nothing of which there is none.
  ///
  /// Only this method is called by a run; one who must not see the one without the other implements it.
  func receive(_ events: [DownloadEvent], unfinished items: [WorkItem]) async
}

extension EventSink {
  /// Receives the events, and then the items.
  public func receive(_ events: [DownloadEvent], unfinished items: [WorkItem]) async {
    if !events.isEmpty { await receive(events) }
    if !items.isEmpty { await receive(unfinished: items) }
  }

  /// Does nothing.
  public func receive(unfinished items: [WorkItem]) async {}
}
