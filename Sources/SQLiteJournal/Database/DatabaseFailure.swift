// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import CSQLite

extension Database {
  /// What a result code means for whoever uses the journal.
  func failure(_ code: Int32) -> JournalError {
    let system = SystemError(sqlite3_system_errno(handle))
    let primary = code & 0xff
    let words = String(cString: sqlite3_errstr(primary))
    switch primary {
    case SQLITE_FULL:
      return .diskFull(name)
    case SQLITE_IOERR where code == SQLITE_IOERR | 2 << 8:
      return damaged("It ends too early")  // SQLITE_IOERR_SHORT_READ, which Swift leaves out.
    case SQLITE_CORRUPT:
      return damaged(words)
    case SQLITE_CONSTRAINT:
      // What is written keeps all rules, unless what is there breaks them.
      return damaged("Its rows contradict each other")
    case SQLITE_NOMEM:
      // A journal needs little, unless lengths in it are wrong.
      return damaged("It asks for more memory than there is")
    case SQLITE_IOERR where system.meansFull, SQLITE_CANTOPEN where system.meansFull:
      return .diskFull(name)
    case SQLITE_NOTADB:
      return .foreign(name, "It is no database.")
    case SQLITE_BUSY, SQLITE_LOCKED:
      return JournalError(
        .inUse, "The journal \(name) is locked by another program. Try again when that has ended.")
    case SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH:
      return .unusable(name, system.code == 0 ? words : system.description)
    case SQLITE_IOERR:
      let cause = system.code == 0 ? words : system.description
      return JournalError(.failed, "The journal \(name) cannot be read or written: \(cause).")
    default:
      return JournalError(.failed, "The journal \(name) cannot be used on: \(words).")
    }
  }

  func damaged(_ what: String) -> JournalError {
    .damaged(name, what)
  }
}

extension JournalError {
  static func damaged(_ name: String, _ what: String) -> JournalError {
    JournalError(
      .damaged,
      "The journal \(name) is damaged: \(what). Move it away, or let --fresh do so and begin anew.")
  }

  static func foreign(_ name: String, _ what: String) -> JournalError {
    JournalError(
      .foreign,
      "\(name) is no journal of this program, and is left as it is. \(what) "
        + "Move it away, or name another file with --journal.")
  }

  static func later(_ name: String, version: Int64) -> JournalError {
    JournalError(
      .foreign,
      "The journal \(name) is one of a later version of this program (its form is \(version)). "
        + "Use that version, or let --fresh put it aside and begin anew.")
  }

  static func unusable(_ name: String, _ cause: String) -> JournalError {
    JournalError(
      .unusable,
      "The journal \(name) cannot be opened: \(cause). "
        + "Name a file that can be written with --journal, or go without by --no-journal.")
  }

  static func diskFull(_ name: String) -> JournalError {
    JournalError(
      .diskFull,
      "There is no room for the journal \(name). What was done is safe: make room and run again.")
  }
}
