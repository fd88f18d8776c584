// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import CSQLite

/// A prepared statement, kept for as long as its database is used.
///
/// Parameters are counted from 1 and columns from 0, as in SQLite. A column that holds something
/// else than is asked for means that the file is damaged.
final class Statement {
  private let database: Database
  private let handle: OpaquePointer

  init(_ sql: String, in database: Database) throws(JournalError) {
    self.database = database
    var prepared: OpaquePointer?
    let code = sqlite3_prepare_v3(
      database.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
    guard code == SQLITE_OK, let prepared else { throw database.failure(code) }
    handle = prepared
  }

  deinit { sqlite3_finalize(handle) }

  // MARK: - Parameters

  func bind(_ value: Int64, _ parameter: Int32) {
    sqlite3_bind_int64(handle, parameter, value)
  }

  /// Refers to bytes that stay where they are until the statement is reset.
  ///
  /// - Throws: When they are more than the database takes.
  func bind(text bytes: UnsafeRawBufferPointer, _ parameter: Int32) throws(JournalError) {
    let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
    let code = sqlite3_bind_text64(
      handle, parameter, start, UInt64(bytes.count), nil, UInt8(SQLITE_UTF8))
    guard code == SQLITE_OK else { throw database.failure(code) }
  }

  /// Refers to bytes that stay where they are until the statement is reset.
  func bind(blob bytes: UnsafeRawBufferPointer, _ parameter: Int32) throws(JournalError) {
    let code = sqlite3_bind_blob64(
      handle, parameter, bytes.baseAddress, UInt64(bytes.count), nil)
    guard code == SQLITE_OK else { throw database.failure(code) }
  }

  func clearParameters() { sqlite3_clear_bindings(handle) }

  // MARK: - Running

  /// Goes on to the next row of the answer, or returns false at its end.
  func step() throws(JournalError) -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code:
      let failure = database.failure(code)
      sqlite3_reset(handle)
      throw failure
    }
  }

  /// Makes the statement ready to be run again; it holds no lock on the file any more.
  func reset() { sqlite3_reset(handle) }

  /// Runs a statement without an answer, and resets it.
  func run() throws(JournalError) {
    _ = try step()
    reset()
  }

  // MARK: - Columns

  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

  func number(_ column: Int32) throws(JournalError) -> Int64 {
    guard sqlite3_column_type(handle, column) == SQLITE_INTEGER else {
      throw database.damaged("A number is missing")
    }
    return sqlite3_column_int64(handle, column)
  }

  /// A number that is not negative.
  func count(_ column: Int32) throws(JournalError) -> Int64 {
    let number = try number(column)
    guard number >= 0 else { throw database.damaged("A count is negative") }
    return number
  }

  func text(_ column: Int32) throws(JournalError) -> String {
    guard sqlite3_column_type(handle, column) == SQLITE_TEXT else {
      throw database.damaged("A text is missing")
    }
    let start = sqlite3_column_text(handle, column)
    let count = Int(sqlite3_column_bytes(handle, column))
    guard
      let text = String(validating: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    else { throw database.damaged("A text is no UTF-8") }
    return text
  }

  func blob(_ column: Int32) throws(JournalError) -> [UInt8] {
    guard sqlite3_column_type(handle, column) == SQLITE_BLOB else {
      throw database.damaged("A digest is missing")
    }
    let start = sqlite3_column_blob(handle, column)
    let count = Int(sqlite3_column_bytes(handle, column))
    return Array(UnsafeRawBufferPointer(start: start, count: count))
  }

  /// What the closure makes of a column, or nil if there is nothing in it.
  func optional<Value>(
    _ column: Int32, _ read: (Int32) throws(JournalError) -> Value
  ) throws(JournalError) -> Value? {
    isNull(column) ? nil : try read(column)
  }

  func damaged(_ what: String) -> JournalError { database.damaged(what) }
}
