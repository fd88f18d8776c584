// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A journal's file, opened and known to be one: what can be asked of its tables and done to them.
///
/// Used by one thread at a time.
final class JournalFile {
  let database: Database
  /// Adds a record.
  let insert: Statement
  private let lock: JournalLock?
  private let stateRow: Statement
  private let recordByID: Statement
  private let recordByKey: Statement
  private let place: Statement
  private let enter: Statement
  private let change: Statement
  private let remove: Statement

  var name: String { database.name }

  /// Wraps a database whose tables have been checked; the lock is held for as long as this is.
  init(_ database: Database, lock: JournalLock?) throws(JournalError) {
    self.database = database
    self.lock = lock
    insert = try database.prepare(RecordColumns.insert)
    stateRow = try database.prepare(
      "SELECT salt, folded, forgotten, done, bytes, earlier FROM journal")
    recordByID = try database.prepare("SELECT \(RecordColumns.list) FROM record WHERE id = ?1")
    // With the number from `place` at the end, to tell a missing record from a missing item.
    recordByKey = try database.prepare(
      """
      SELECT record.*, place.id FROM place LEFT JOIN record ON record.id = place.id
      WHERE place.key = ?1
      """)
    place = try database.prepare("SELECT id FROM place WHERE key = ?1")
    enter = try database.prepare("INSERT OR IGNORE INTO place (key, id) VALUES (?1, ?2)")
    change = try database.prepare("UPDATE place SET id = ?2 WHERE key = ?1")
    remove = try database.prepare("DELETE FROM record WHERE id = ?1")
  }

  // MARK: - The state of the whole

  /// More records than can ever be written, and few enough to count with.
  private static let mostRecords: Int64 = 1 << 60

  /// The one row of `journal`.
  struct State {
    var salt: Int64
    var folded: Int64
    var forgotten: Int64
    var done: Int64
    /// A sum that wraps around rather than fails, should lengths be recorded that no file can have.
    var bytes: Int64
    var earlier: Int64
  }

  func state() throws(JournalError) -> State {
    defer { stateRow.reset() }
    guard try stateRow.step() else { throw database.damaged("It has lost its beginning") }
    let state = State(
      salt: try stateRow.number(0), folded: try stateRow.count(1), forgotten: try stateRow.count(2),
      done: try stateRow.count(3), bytes: try stateRow.number(4), earlier: try stateRow.count(5))
    guard try !stateRow.step() else { throw database.damaged("It has two beginnings") }
    guard state.folded < Self.mostRecords, state.forgotten < Self.mostRecords else {
      throw database.damaged("It speaks of too many records")
    }
    return state
  }

  func save(_ state: State) throws(JournalError) {
    let statement = try database.prepare(
      "UPDATE journal SET folded = ?1, forgotten = ?2, done = ?3, bytes = ?4, earlier = ?5")
    statement.bind(state.folded, 1)
    statement.bind(state.forgotten, 2)
    statement.bind(state.done, 3)
    statement.bind(state.bytes, 4)
    statement.bind(state.earlier, 5)
    try statement.run()
  }

  func isEmpty() throws(JournalError) -> Bool {
    try database.number("SELECT count(*) FROM (SELECT 1 FROM record LIMIT 1)") == 0
  }

  func isPlaceEmpty() throws(JournalError) -> Bool {
    try database.number("SELECT count(*) FROM (SELECT 1 FROM place LIMIT 1)") == 0
  }

  // MARK: - Records

  /// The record of that number, which has to be one of the item.
  func record(
    _ id: Int64, of key: ItemKey, forgotten: Int64
  ) throws(JournalError) -> ItemRecord {
    recordByID.bind(id, 1)
    defer { recordByID.reset() }
    guard try recordByID.step() else { throw database.damaged("A record is missing") }
    return try checked(recordByID, of: key, forgotten: forgotten)
  }

  /// The record that `place` knows of the item, if it knows one.
  func record(of key: ItemKey, forgotten: Int64) throws(JournalError) -> ItemRecord? {
    recordByKey.bind(key.rawValue, 1)
    defer { recordByKey.reset() }
    guard try recordByKey.step() else { return nil }
    guard !recordByKey.isNull(0) else { throw database.damaged("A record is missing") }
    return try checked(recordByKey, of: key, forgotten: forgotten)
  }

  private func checked(
    _ row: Statement, of key: ItemKey, forgotten: Int64
  ) throws(JournalError) -> ItemRecord {
    guard try row.number(1) == key.rawValue else {
      throw database.damaged("A record is another item's")
    }
    return try RecordColumns.record(in: row, isForgotten: try row.number(0) <= forgotten)
  }

  /// Tells of each record that is not folded, in the order in which they were added.
  func eachUnfolded(
    after folded: Int64,
    _ body: (_ key: Int64, _ id: Int64, _ bytes: Int64?) throws(JournalError) -> Void
  ) throws(JournalError) {
    let rows = try database.prepare(
      "SELECT id, key, state, size FROM record WHERE id > ?1 ORDER BY id")
    rows.bind(folded, 1)
    while try rows.step() {
      let isDone = try rows.number(2) == RecordColumns.State.done
      guard try rows.count(0) < Self.mostRecords else {
        throw database.damaged("It speaks of too many records")
      }
      try body(try rows.count(1), try rows.count(0), isDone ? try rows.count(3) : nil)
    }
  }

  /// The number that `place` knows of the item.
  func placed(_ key: Int64) throws(JournalError) -> Int64? {
    place.bind(key, 1)
    defer { place.reset() }
    return try place.step() ? try place.number(0) : nil
  }

  /// Whether a record is done and how long its file is, nil if there is no such record.
  func length(of id: Int64) throws(JournalError) -> (isDone: Bool, bytes: Int64)? {
    recordByID.bind(id, 1)
    defer { recordByID.reset() }
    guard try recordByID.step() else { return nil }
    guard try recordByID.number(2) == RecordColumns.State.done else { return (false, 0) }
    return (true, try recordByID.count(5))
  }

  // MARK: - What is not done

  /// How many records are not done, void ones included.
  func unfinishedCount(after forgotten: Int64) throws(JournalError) -> Int64 {
    try database.number(
      """
      SELECT count(*) FROM record INDEXED BY unfinished
      WHERE state > 0 AND id > \(forgotten)
      """)
  }

  // MARK: - The fold

  /// Enters records into `place`, removes those that they make void, and keeps count.
  ///
  /// What an earlier process has entered before it was killed is found entered and left alone.
  func fold(
    _ entries: ArraySlice<Fold.Entry>, of fold: Fold, isLast: Bool
  ) throws(JournalError) {
    var state = try state()
    for entry in entries {
      enter.bind(entry.key, 1)
      enter.bind(entry.id, 2)
      try enter.run()
      // Most items have one record only, so it is tried before it is looked whether there is one.
      if !database.hasChanged {
        guard let earlier = try placed(entry.key) else { throw database.damaged("A place is lost") }
        if earlier == entry.id { continue }
        try takeOut(earlier, of: &state)
        change.bind(entry.key, 1)
        change.bind(entry.id, 2)
        try change.run()
      }
      if let bytes = entry.bytes {
        state.done &+= 1
        state.bytes &+= bytes
      }
    }
    if isLast {
      for id in fold.void { try delete(id) }
      state.folded = fold.upTo
    }
    try save(state)
  }

  private func takeOut(_ id: Int64, of state: inout State) throws(JournalError) {
    if id <= state.forgotten {
      state.earlier &-= 1
    } else if let (isDone, bytes) = try length(of: id), isDone {
      state.done &-= 1
      state.bytes &-= bytes
    }
    try delete(id)
  }

  private func delete(_ id: Int64) throws(JournalError) {
    remove.bind(id, 1)
    try remove.run()
  }

  // MARK: - Runs

  func begin(_ run: JournalRun) throws(JournalError) -> Int64 {
    let statement = try database.prepare("INSERT INTO run (began, \"limit\") VALUES (?1, ?2)")
    statement.bind(run.began.milliseconds, 1)
    statement.bind(Int64(run.limit), 2)
    try statement.run()
    return try database.number("SELECT last_insert_rowid()")
  }

  func end(_ id: Int64, _ end: JournalRun.End) throws(JournalError) {
    let statement = try database.prepare(
      """
      UPDATE run SET ended = ?2, ending = '\(end.ending.rawValue)', done = ?3, failed = ?4,
        skipped = ?5, bytes = ?6
      WHERE id = ?1
      """)
    statement.bind(id, 1)
    statement.bind(end.time.milliseconds, 2)
    statement.bind(Int64(end.done), 3)
    statement.bind(Int64(end.failed), 4)
    statement.bind(Int64(end.skipped), 5)
    statement.bind(end.bytes, 6)
    try statement.run()
  }

  /// The run that began last.
  func lastRun() throws(JournalError) -> JournalRun? {
    let row = try database.prepare(
      """
      SELECT began, "limit", ended, ending, done, failed, skipped, bytes FROM run
      ORDER BY id DESC LIMIT 1
      """)
    guard try row.step() else { return nil }
    var run = JournalRun(
      began: Date(milliseconds: try row.number(0)), limit: Int(try row.number(1)))
    if !row.isNull(2) {
      guard let ending = JournalRun.Ending(rawValue: try row.text(3)) else {
        throw database.damaged("A run has an unknown ending")
      }
      run.end = JournalRun.End(
        time: Date(milliseconds: try row.number(2)), ending: ending, done: Int(try row.count(4)),
        failed: Int(try row.count(5)), skipped: Int(try row.count(6)), bytes: try row.count(7))
    }
    return run
  }
}
