// SPDX-License-Identifier: Apache-2.0

public import BatchwiseDownload

/// What a journal knows as a whole.
public struct JournalSummary: Sendable, Equatable {
  /// Items whose file has its final name.
  public var done = 0
  /// The length of all these files.
  public var bytes: Int64 = 0
  /// Items that failed for good.
  public var failed = 0
  /// Items of which a part is kept.
  public var partial = 0
  /// Items that were read from the list and left to a later run.
  public var left = 0
  /// Items that were to be forgotten, and have not been met since.
  public var forgotten = 0
  /// The failures by their reasons, the most frequent first.
  public var failures: [FailureGroup] = []
  /// The run that began last.
  public var lastRun: JournalRun?
  /// Whether a run has the journal in use just now.
  public var isInUse = false

  /// The items that failed for one reason.
  public struct FailureGroup: Sendable, Equatable {
    /// The reason.
    public var reason: DownloadFailure.Reason
    /// How many there are.
    public var count: Int
    /// Some of them, those that failed first.
    public var examples: [Example]
  }

  /// An item that failed.
  public struct Example: Sendable, Equatable {
    /// Its address, without user name and password.
    public var url: String
    /// What happened, as a sentence.
    public var message: String
  }
}

extension SQLiteJournal {
  /// What a journal knows as a whole.
  ///
  /// Changes nothing that it knows, and makes no file where there is no journal. A run may go on
  /// meanwhile: the summary is what was true at one moment. Blocks for as long as the disk takes.
  ///
  /// - Parameters:
  ///   - path: Where the journal is.
  ///   - examples: How many items of each kind of failure are named.
  /// - Returns: The summary, or nil if there is no journal.
  /// - Throws: ``JournalError``, with `foreign` or `damaged` if it is none that can be read.
  /// - Complexity: O(*u* + *t* log *n*) for *u* items that are not done and the at most some ten
  ///   thousand records *t* that are not sorted in yet, whatever the number of those that are done.
  public static func summary(
    path: String, examples: Int = 10
  ) throws(JournalError) -> JournalSummary? {
    try JournalReader(path)?.summary(examples: examples)
  }

  /// Hands over the records of all items that failed, then of those of which a part is kept, then of
  /// those that were left, each kind in the order in which it was recorded.
  ///
  /// A run may go on meanwhile; it is not held up, however long the closure takes, and an item about
  /// which it records something new may come once more. Nothing happens if there is no journal.
  ///
  /// - Throws: ``JournalError``, with `foreign` or `damaged` if it is none that can be read, and
  ///   what the closure throws.
  /// - Complexity: O(*u* + *t*) as for ``summary(path:examples:)``, in memory for some ten thousand
  ///   keys whatever their number.
  public static func eachUnfinished(
    path: String, _ body: (ItemRecord) throws -> Void
  ) throws {
    try JournalReader(path)?.eachUnfinished(body)
  }
}
