// SPDX-License-Identifier: Apache-2.0

/// One consistent view of a run at one moment.
public struct DownloadStatus: Sendable, Equatable {
  /// The most items in flight at once.
  public var limit: Int
  /// Items started and not finished.
  public var inFlight = 0
  /// The most items that were in flight at one moment so far.
  public var peakInFlight = 0
  /// Items read from the list that wait for their turn, or pause before another attempt.
  public var waiting = 0
  /// Items whose file is whole and about to get its final name.
  public var settling = 0
  /// Items that a stop has left to the next run.
  public var left = 0
  /// Items whose file has its final name.
  public var done = 0
  /// Items that failed for good.
  public var failed = 0
  /// Items that needed no download.
  public var skipped = 0
  /// The length of all files that are done.
  public var bytes: Int64 = 0
  /// The bytes of bodies received so far, those of unfinished files included.
  public var received: Int64 = 0
  /// Whether the list has been read to its end, so that the number of items is known.
  public var isListRead = false
  /// Whether nothing more starts until the run is resumed.
  public var isPaused = false

  /// Items read from the list so far, all of them.
  public var read = 0

  /// All items read from the list so far, but for those that a stop has left to the next run.
  public var items: Int { inFlight + waiting + settling + done + failed + skipped }

  init(limit: Int) { self.limit = limit }
}

/// How far one transfer in flight has come.
public struct TransferProgress: Sendable, Equatable {
  /// The item's number in its run, from 1, as events have it.
  public var id: Int
  /// The item's address without user name and password.
  public var url: String
  /// The name that its file will get, if nothing else has it.
  public var name: String
  /// How many bytes of the file are there.
  public var received: Int64
  /// How many there will be, if that is known.
  public var total: Int64?
  /// How long it has been in flight.
  public var duration: Duration
}

/// What a run came to.
public struct DownloadReport: Sendable, Equatable {
  /// The counts at the end.
  public var status: DownloadStatus
  /// How long the run took.
  public var duration: Duration
  /// Why it ended.
  public var ending: Ending

  /// Why a run ended.
  public enum Ending: Sendable, Equatable {
    /// Every item of the list was done, skipped or failed.
    case listDone
    /// It was stopped or cancelled; items may be left to the next run.
    case stopped
    /// No room was left for files; items may be left to the next run.
    case diskFull
    /// The journal could not be written or read; items may be left to the next run.
    case journalFailed(JournalError)
    /// The list could not be understood, so that nothing was started.
    case listNotUnderstood(ListFormatError)
    /// The list could not be read on, for the reason given.
    case listUnreadable(String)
  }
}
