// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import CSQLite

/// A connection to a database file.
///
/// Used by one thread at a time. Closed when it and its statements are no longer held.
final class Database {
  /// The file as it is called towards people.
  let name: String
  let handle: OpaquePointer
  /// Statements that frame others, parsed once, for they are as frequent as a small batch of these.
  private var framing: [String: OpaquePointer] = [:]

  /// How a file is opened.
  enum Mode {
    /// To be read and written, and made if it is missing.
    case writing
    /// To be read, with a part in the coordination between processes, which may need to be written.
    case reading
    /// To be read where nothing can be written.
    case readingOnly
    /// To be read as a file that nobody changes, with no part in any coordination.
    case readingUnchanged
    /// In memory, gone when it is closed.
    case temporary
  }

  /// Opens a file; SQLite looks into it only when it is first asked for something.
  init(path: String, name: String, _ mode: Mode) throws(JournalError) {
    self.name = name
    let flags =
      switch mode {
      case .writing: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      case .reading: SQLITE_OPEN_READWRITE
      case .readingOnly: SQLITE_OPEN_READONLY
      case .readingUnchanged: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
      case .temporary: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY
      }
    // Relative names and links were resolved before; a link here was put there since.
    let always = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOFOLLOW
    let file = if case .readingUnchanged = mode { Self.unchanging(path) } else { path }
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(file, &opened, flags | always, nil)
    guard let opened else { throw JournalError(.failed, "There is no memory for the journal.") }
    handle = opened
    guard code == SQLITE_OK else { throw failure(code) }
    sqlite3_extended_result_codes(handle, 1)
    // Others hold their locks for moments: to begin, to end, and to mend what a kill left behind.
    sqlite3_busy_timeout(handle, 5_000)
    // No text that we write is as long; a damaged file may speak of a gigabyte.
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, 1 << 20)
    guard batchwise_defend(handle) == SQLITE_OK else { throw failure(SQLITE_ERROR) }
  }

  // When an initializer throws, too: all properties are set by then.
  deinit {
    for statement in framing.values { sqlite3_finalize(statement) }
    sqlite3_close_v2(handle)
  }

  private static func unchanging(_ path: String) -> String {
    var uri = "file:"
    for byte in path.utf8 {
      switch byte {
      case UInt8(ascii: "%"): uri += "%25"
      case UInt8(ascii: "?"): uri += "%3f"
      case UInt8(ascii: "#"): uri += "%23"
      default: uri.unicodeScalars.append(Unicode.Scalar(byte))
      }
    }
    return uri + "?immutable=1"
  }

  // MARK: - Statements

  /// Runs statements that have no answer worth reading.
  func execute(_ sql: String) throws(JournalError) {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw failure(code) }
  }

  func prepare(_ sql: String) throws(JournalError) -> Statement {
    try Statement(sql, in: self)
  }

  /// The one number that a statement answers with.
  func number(_ sql: String) throws(JournalError) -> Int64 {
    let statement = try prepare(sql)
    guard try statement.step() else { throw damaged("An answer is missing") }
    return try statement.number(0)
  }

  /// Whether the statement that ran last has changed a row.
  var hasChanged: Bool { sqlite3_changes(handle) > 0 }

  /// Runs the body as one change, which happens as a whole or not at all.
  func transaction<Success>(
    _ body: () throws(JournalError) -> Success
  ) throws(JournalError) -> Success {
    try frame("BEGIN IMMEDIATE")
    do throws(JournalError) {
      let success = try body()
      try frame("COMMIT")
      return success
    } catch {
      try? rollBack()
      throw error
    }
  }

  /// Runs the body on one view of the file, whatever others write meanwhile.
  func snapshot<Success>(
    _ body: () throws(JournalError) -> Success
  ) throws(JournalError) -> Success {
    try frame("BEGIN")
    do throws(JournalError) {
      let success = try body()
      try rollBack()
      return success
    } catch {
      try? rollBack()
      throw error
    }
  }

  private func rollBack() throws(JournalError) {
    // Some errors have rolled back already.
    if sqlite3_get_autocommit(handle) == 0 { try frame("ROLLBACK") }
  }

  private func frame(_ sql: String) throws(JournalError) {
    var statement = framing[sql]
    if statement == nil {
      let code = sqlite3_prepare_v3(
        handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
      guard code == SQLITE_OK else { throw failure(code) }
      framing[sql] = statement
    }
    let code = sqlite3_step(statement)
    defer { sqlite3_reset(statement) }
    guard code == SQLITE_DONE else { throw failure(code) }
  }
}
