// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// One run of the program on a journal.
public struct JournalRun: Sendable, Equatable {
  /// When it began, to the millisecond.
  public var began: Date
  /// How many items were at most in flight.
  public var limit: Int
  /// What it came to; nil while it is under way, and for ever if it was killed.
  public var end: End?

  /// Describes a run that begins.
  public init(began: Date, limit: Int) {
    self.began = began
    self.limit = limit
  }

  /// How a run ended.
  public struct End: Sendable, Equatable {
    /// When, to the millisecond.
    public var time: Date
    /// Why.
    public var ending: Ending
    /// Items whose files it brought.
    public var done: Int
    /// Items that failed for good.
    public var failed: Int
    /// Items that needed nothing.
    public var skipped: Int
    /// The length of all files that it brought.
    public var bytes: Int64

    /// Describes an end.
    public init(
      time: Date, ending: Ending, done: Int, failed: Int, skipped: Int, bytes: Int64
    ) {
      self.time = time
      self.ending = ending
      self.done = done
      self.failed = failed
      self.skipped = skipped
      self.bytes = bytes
    }
  }

  /// Why a run ended; the raw values are the journal's words.
  public enum Ending: String, Sendable, CaseIterable {
    /// Every item of the list had its end.
    case listDone = "list-done"
    /// It was stopped, and left items to the next run.
    case stopped
    /// No room was left on the disk.
    case diskFull = "disk-full"
    /// The list could not be read on.
    case listUnreadable = "list-unreadable"
    /// Something else went wrong.
    case failed
  }
}

extension Date {
  /// Milliseconds since 1970, as the file keeps them.
  var milliseconds: Int64 {
    Int64(exactly: (timeIntervalSince1970 * 1000).rounded()) ?? 0
  }

  init(milliseconds: Int64) {
    self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
  }
}
