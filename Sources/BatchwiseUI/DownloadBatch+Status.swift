// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

extension DownloadBatch {
  /// What a batch is doing.
  public enum Phase: Sendable, Equatable {
    /// It has not been started.
    case ready
    /// Requests are in flight, wait for their turn, or pause before another attempt.
    case running
    /// Nothing more starts until it is resumed.
    case paused
    /// It was cancelled; what it has left can be gone on with.
    case cancelled
    /// Every request has ended: it is done, was skipped, or has failed.
    case done
    /// It ended early as a whole, for the reason that the sentence gives: a full disk, its journal, or its
    /// folder. What it has left can be gone on with.
    case failed(String)
  }

  /// What all rows of a batch come to.
  public struct Status: Sendable, Equatable {
    /// How many requests there are.
    public var items = 0
    /// Requests that have not started, or pause before another attempt.
    public var waiting = 0
    /// Requests in flight; never more than the limit, unless that was lowered.
    public var inFlight = 0
    /// The most requests that were in flight at one moment.
    public var peakInFlight = 0
    /// Requests whose file has its final name.
    public var done = 0
    /// Requests that needed no download.
    public var skipped = 0
    /// Requests that have failed for good.
    public var failed = 0
    /// Requests that were left when the batch ended or was cancelled.
    public var left = 0
    /// The bytes of bodies received so far, those of unfinished files included.
    public var received: Int64 = 0
    /// The part of the work that has ended, from 0 to 1.
    ///
    /// A request that is done, was skipped or has failed counts as one; one in flight counts as the part
    /// of its file that is there, if its length is known.
    public var fraction = 0.0

    /// Requests that have ended: done, skipped or failed.
    public var ended: Int { done + skipped + failed }

    init() {}

    init(_ counts: LiveBatch.Counts) {
      func count(_ kind: DownloadRow.Kind) -> Int { counts.kinds[kind] ?? 0 }
      items = counts.all
      waiting = count(.waiting) + count(.pausing)
      done = count(.done)
      skipped = count(.skipped)
      failed = count(.failed)
      left = count(.left)
    }
  }
}

extension DownloadReport.Ending {
  /// Why a whole batch ended early, as a sentence; nil if it did not, or because somebody wanted it.
  var sentence: String? {
    switch self {
    case .listDone, .stopped: nil
    case .diskFull: "There is no room left on the disk for further files."
    case .journalFailed(let error): "\(error)"
    case .listNotUnderstood(let error): "The list could not be understood: \(error)"
    case .listUnreadable(let cause): "The list could not be read on: \(cause)"
    }
  }
}
