// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// What a page is told of the whole batch, several times a second while something happens.
struct GalleryStatus: Encodable, Equatable {
  /// Two equal numbers are one state of all rows.
  var version: Int
  /// Whether rows are handed out.
  var isStarted: Bool
  /// Whether what is handed out waits.
  var isPaused: Bool
  /// Whether the run has ended, so that nothing more will happen.
  var isOver: Bool
  var limit: Int
  /// How many rows there are, and in which states, by the words of ``DownloadRow/Kind``.
  var rows: Int
  var kinds: [String: Int]
  /// The bytes of bodies received so far.
  var received: Int64
  var transfers: [Transfer]

  /// One transfer in flight.
  struct Transfer: Encodable, Equatable {
    var row: Int
    var name: String
    var received: Int64
    var total: Int64?
    var seconds: Double
  }

  init(
    _ counts: LiveBatch.Counts, _ status: DownloadStatus, isOver: Bool, transfers: [Transfer]
  ) {
    version = counts.version
    isStarted = counts.isStarted
    isPaused = status.isPaused
    self.isOver = isOver
    limit = status.limit
    rows = counts.all
    kinds = [:]
    for (kind, count) in counts.kinds where count > 0 { kinds[kind.rawValue] = count }
    received = status.received
    self.transfers = transfers
  }
}

/// Some of the rows, as a page is told of them.
struct GalleryRows: Encodable, Equatable {
  var version: Int
  var from: Int
  /// How many rows are in the states that were asked for.
  var total: Int
  var rows: [Row]

  struct Row: Encodable, Equatable {
    var id: Int
    var url: String
    var kind: String
    var file: String?
    var bytes: Int64?
    var seconds: Double?
    /// Why nothing had to be downloaded.
    var skipped: String?
    /// Why it failed: the word, and the sentence.
    var reason: String?
    var message: String?
    var status: Int?

    init(_ row: DownloadRow) {
      id = row.id
      url = row.url
      kind = row.kind.rawValue
      file = row.file
      reason = row.failure?.reason.rawValue
      message = row.failure?.message
      status = row.failure?.status
      switch row.state {
      case .done(let file):
        bytes = file.bytes
        seconds = file.duration / .seconds(1)
      case .skipped(let reason, _): skipped = reason.rawValue
      case .waiting, .inFlight, .pausing, .failed, .left: break
      }
    }
  }

  init(_ live: LiveBatch, _ window: GalleryRequest.RowWindow) {
    let (rows, counts) = live.rows(window.kinds, from: window.start, atMost: window.count)
    version = counts.version
    from = window.start
    total = window.kinds?.reduce(0) { $0 + (counts.kinds[$1] ?? 0) } ?? counts.all
    self.rows = rows.map { Row($0) }
  }
}

extension Encodable {
  /// The value as JSON, with its fields in a fixed order, so that equal values are equal texts.
  var json: [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(self)).map { Array($0) } ?? []
  }
}
