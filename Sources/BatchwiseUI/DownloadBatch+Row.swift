// SPDX-License-Identifier: Apache-2.0

public import BatchwiseDownload
public import Observation

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension DownloadBatch {
  /// One request of a batch, to be looked at.
  ///
  /// Rows are observed one by one: who has read only one row is not told of a change of another.
  @Observable
  @MainActor
  public final class Row: nonisolated Identifiable {
    /// The place of the request in the batch, counted from zero.
    public nonisolated let id: Int

    /// Its address without user name and password, fit to be shown.
    public nonisolated let url: String

    /// What has become of it.
    public private(set) var state: DownloadRow.State

    /// How far it has come; nil unless it is in flight and its answer has begun.
    public private(set) var transfer: Transfer?

    /// The bytes of its picture; nil if its file is none, or if there is no room for it.
    ///
    /// Only what the first bytes show to be a PNG, JPEG, GIF, WebP, BMP or AVIF picture is here. What was
    /// dropped for want of room is loaded again by ``DownloadBatch/loadThumbnail(of:)``.
    public internal(set) var thumbnail: Data?

    /// How far a request in flight has come.
    public struct Transfer: Sendable, Equatable {
      /// How many bytes of its file are there.
      public var received: Int64
      /// How many there will be, if that is known.
      public var total: Int64?

      /// The part that is there, from 0 to 1, if that is known.
      public var fraction: Double? {
        guard let total, total > 0 else { return nil }
        return min(1, max(0, Double(received) / Double(total)))
      }
    }

    init(_ row: DownloadRow) {
      id = row.id
      url = row.url
      state = row.state
    }

    /// Which state it is in.
    public var kind: DownloadRow.Kind { row.kind }

    /// The path of its file, relative to the output folder, if it has one.
    public var file: String? { row.file }

    /// Why it failed, or why its last attempt did while it pauses, as a sentence.
    public var failureMessage: String? { row.failure?.message }

    /// Whether it can be asked for again: it has failed, or was left.
    public var canBeRetried: Bool {
      kind == .left || kind == .failed && row.failure?.reason != .badURL
    }

    private var row: DownloadRow { DownloadRow(id: id, url: url, state: state) }

    /// Shows what is known of it now.
    func show(_ row: DownloadRow) {
      if state != row.state { state = row.state }
      if kind != .inFlight, transfer != nil { transfer = nil }
    }

    /// Shows how far it has come, while it is in flight.
    func show(_ transfer: Transfer) {
      if kind == .inFlight, self.transfer != transfer { self.transfer = transfer }
    }
  }
}
