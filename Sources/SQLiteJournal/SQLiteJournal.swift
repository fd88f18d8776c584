// SPDX-License-Identifier: Apache-2.0

public import BatchwiseDownload
internal import Synchronization

/// A journal in an SQLite file.
///
/// One run writes it at a time; a second one is refused at once. Others may read it meanwhile, with
/// ``summary(path:examples:)``. What it keeps in memory does not grow with what it knows.
///
/// All work with the file is done on a queue of its own, and every method waits without a thread.
/// None of them can be cancelled: each is short.
public final class SQLiteJournal: DownloadJournal {
  /// The path it was opened with.
  public let path: String

  /// A random number that was made with the journal; keys are made with it.
  public let salt: UInt64

  private let queue: JournalQueue
  private let writer: JournalWriter
  private let hasRecords: Atomic<Bool>
  private let inbox = Mutex(Inbox())

  /// Opens a journal for a run, and makes it if there is none; its folder must be there.
  ///
  /// Blocks for as long as the disk takes. It has to be opened again for another run, and is closed
  /// when it is no longer held.
  ///
  /// - Parameters:
  ///   - path: Where the journal is. While it is open, further files lie beside it whose names begin
  ///     with its own.
  ///   - discardingUnusable: Whether a journal that is damaged, or of a later version, is put aside
  ///     under another name (`.unusable-1`) in favour of a new one. What never was a journal of ours
  ///     is refused in any case.
  /// - Returns: The journal, which has the file to itself.
  /// - Throws: ``JournalError`` with ``JournalError/Kind/inUse`` if another run has it, `foreign` or
  ///   `damaged` if it is none that can be used, `diskFull`, or `unusable` if it cannot be opened.
  ///   What lies at the path is then left as it was.
  /// - Complexity: O(1), but for `discardingUnusable`, which reads all of it.
  public static func open(
    path: String, discardingUnusable: Bool = false
  ) throws(JournalError) -> SQLiteJournal {
    try open(
      path: path, discardingUnusable: discardingUnusable, schema: .current, folding: FoldPace())
  }

  static func open(
    path: String, discardingUnusable: Bool = false, schema: Schema = .current,
    folding pace: FoldPace
  ) throws(JournalError) -> SQLiteJournal {
    let place = try JournalPath(path)
    let lock = try JournalLock(for: place.resolved, name: path)
    let trouble: JournalError
    do throws(JournalError) {
      switch try JournalFile.open(place, lock, schema, isThorough: discardingUnusable) {
      case .file(let file): return try SQLiteJournal(path, file, pace)
      case .laterVersion(let version): trouble = .later(path, version: version)
      }
    } catch {
      guard error.kind == .damaged else { throw error }
      trouble = error
    }
    guard discardingUnusable else { throw trouble }
    try place.putAside()
    guard case .file(let file) = try JournalFile.open(place, lock, schema, isThorough: false) else {
      throw trouble
    }
    return try SQLiteJournal(path, file, pace)
  }

  private init(
    _ path: String, _ file: sending JournalFile, _ pace: FoldPace
  ) throws(JournalError) {
    self.path = path
    salt = UInt64(bitPattern: try file.state().salt)
    hasRecords = Atomic(try !file.isEmpty())
    queue = JournalQueue()
    writer = try JournalWriter(file, on: queue, folding: pace)
  }

  /// Writes what is still beside the file into it, and gives it up to other runs.
  ///
  /// Everything after it fails. A journal that is simply no longer held closes itself in the same way.
  public func close() async { await writer.close() }

  // MARK: - Records

  /// The latest records of these items, nil for those that have none.
  ///
  /// - Throws: ``JournalError``, with `damaged` when what is found cannot be right.
  /// - Complexity: O(log *n*) an item for *n* records; nothing but a look at a flag while there are no
  ///   records at all, and one into a table in memory until there are some ten thousand.
  public func records(of keys: [ItemKey]) async throws(JournalError) -> [ItemRecord?] {
    guard hasRecords.load(ordering: .acquiring) else {
      return Array(repeating: nil, count: keys.count)
    }
    return try await writer.records(of: keys)
  }

  /// Adds records, each of which takes the place of an earlier one of its item.
  ///
  /// All of them are added, or none if this throws. Callers that come while others' records are
  /// being written are served together, in one transaction. When it returns, the records survive
  /// the end of the process, but not yet a failure of the power.
  ///
  /// - Throws: ``JournalError``; with `diskFull` it can be tried again when there is room.
  /// - Complexity: O(1) a record. Now and then some thousand records are sorted into the journal on
  ///   its queue, in steps between which other calls are served.
  public func append(_ records: [ItemRecord]) async throws(JournalError) {
    guard !records.isEmpty else { return }
    let result = await withCheckedContinuation { waiter in
      let isFirst = inbox.withLock { $0.add(records, waiter) }
      // The caller holds the journal until it is answered. Held here any longer, it would still have
      // its file when the caller lets go of it.
      if isFirst {
        queue.async { [weak self] in
          guard let (waiters, result) = self?.writeInbox() else { return }
          for waiter in waiters { waiter.resume(returning: result) }
        }
      }
    }
    try result.get()
  }

  private func writeInbox() -> ([Inbox.Waiter], Result<Void, JournalError>) {
    let inbox = inbox.withLock { inbox in
      let taken = inbox
      inbox = Inbox()
      return taken
    }
    hasRecords.store(true, ordering: .releasing)
    let result = writer.assumeIsolated { writer in
      Result { () throws(JournalError) in try writer.append(inbox.batches) }
    }
    return (inbox.waiters, result)
  }

  /// Those who wait for their records to be written.
  private struct Inbox {
    typealias Waiter = CheckedContinuation<Result<Void, JournalError>, Never>

    var batches: [[ItemRecord]] = []
    var waiters: [Waiter] = []

    /// Adds one, and tells whether it is the first.
    mutating func add(_ records: [ItemRecord], _ waiter: Waiter) -> Bool {
      batches.append(records)
      waiters.append(waiter)
      return waiters.count == 1
    }
  }

  // MARK: - The whole

  /// Makes every record so far one of an item that is to be done again.
  ///
  /// They are still found, and say that they are forgotten.
  ///
  /// - Complexity: O(*t* log *n*), for the at most some ten thousand records *t* that are not sorted
  ///   in yet; no record is changed.
  public func forget() async throws(JournalError) { try await writer.forget() }

  /// Notes that a run begins, and returns the number by which its end is noted.
  public func begin(_ run: JournalRun) async throws(JournalError) -> Int64 {
    try await writer.begin(run)
  }

  /// Notes how the run of that number ended.
  public func end(_ number: Int64, _ end: JournalRun.End) async throws(JournalError) {
    try await writer.end(number, end)
  }
}
