// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import CSQLite
import Foundation
import TestSupport
import Testing

@testable import SQLiteJournal

@Suite("Opening a journal", .timeLimit(.minutes(1)))
struct JournalOpeningTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func refusal(discarding: Bool = false) -> JournalError? {
    do throws(JournalError) {
      _ = try SQLiteJournal.open(path: folder.journal, discardingUnusable: discarding)
      return nil
    } catch {
      return error
    }
  }

  /// Runs SQL on the file as any other program would.
  private func sql(_ sql: String) throws {
    var database: OpaquePointer?
    try #require(sqlite3_open(folder.journal, &database) == SQLITE_OK)
    defer { sqlite3_close(database) }
    try #require(sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK)
  }

  // MARK: - What is none of ours

  @Test(
    "A file that is no database is refused, told what to do about, and left as it is",
    arguments: ["Dear diary", "SQLite format 3", String(repeating: "\u{1}", count: 10_000)])
  func foreignFile(text: String) throws {
    try folder.write(Array(text.utf8), to: "journal.sqlite")
    for discarding in [false, true] {
      let error = try #require(refusal(discarding: discarding))
      #expect(error.kind == .foreign)
      #expect(error.description.contains(folder.journal))
      #expect(error.description.contains("Move it away"))
      #expect(throws: JournalError.self) { () throws in
        _ = try SQLiteJournal.summary(path: folder.journal)
      }
    }
    #expect(folder["journal.sqlite"] == Array(text.utf8))
    #expect(folder.names == ["journal.sqlite"])
  }

  @Test("Another program's database is refused and left as it is", arguments: [true, false])
  func foreignDatabase(hasNumber: Bool) throws {
    try sql(
      (hasNumber ? "PRAGMA application_id = 77;" : "")
        + "CREATE TABLE diary (day, text); INSERT INTO diary VALUES (1, 'dear')")
    let before = folder["journal.sqlite"]
    for discarding in [false, true] {
      #expect(refusal(discarding: discarding)?.kind == .foreign)
    }
    let isSame = folder["journal.sqlite"] == before
    #expect(isSame)
    #expect(folder.names == ["journal.sqlite"])
  }

  @Test("What another program was about to roll back is not touched")
  func foreignHotJournal() throws {
    try sql("PRAGMA application_id = 77; CREATE TABLE diary (day, text)")
    try folder.write(Array("roll me back".utf8), to: "journal.sqlite-journal")
    try folder.write(Array("write me".utf8), to: "journal.sqlite-wal")
    #expect(refusal(discarding: true)?.kind == .foreign)
    #expect(throws: JournalError.self) { () throws in
      _ = try SQLiteJournal.summary(path: folder.journal)
    }
    #expect(folder["journal.sqlite-journal"] == Array("roll me back".utf8))
    #expect(folder["journal.sqlite-wal"] == Array("write me".utf8))
  }

  @Test("A folder, a link and a pipe are refused at once")
  func otherKinds() throws {
    try FileManager.default.createDirectory(
      atPath: folder.journal, withIntermediateDirectories: false)
    #expect(refusal()?.kind == .foreign)
    #expect(throws: JournalError.self) { () throws in
      _ = try SQLiteJournal.summary(path: folder.journal)
    }
    try FileManager.default.removeItem(atPath: folder.journal)

    try FileManager.default.createSymbolicLink(
      atPath: folder.journal, withDestinationPath: folder.path + "/elsewhere")
    #expect(refusal()?.kind == .foreign)
    #expect(!folder.names.contains("elsewhere"))
    try FileManager.default.removeItem(atPath: folder.journal)

    mkfifo(folder.journal, 0o600)
    #expect(refusal()?.kind == .foreign)
    #expect(throws: JournalError.self) { () throws in
      _ = try SQLiteJournal.summary(path: folder.journal)
    }
  }

  @Test(
    "A path that names no file, or a folder that is missing, is told",
    arguments: ["", "/", ".", "..", "a/", "missing/journal.sqlite", "a\0b"])
  func badPaths(path: String) throws {
    let path = path.isEmpty ? path : folder.path + "/" + path
    #expect(throws: JournalError.self) { () throws in _ = try SQLiteJournal.open(path: path) }
  }

  @Test("A folder in which nothing can be written is told")
  func readOnlyFolder() async throws {
    chmod(folder.path, 0o555)
    await #expect(processExitsWith: .success) { [path = folder.journal as String] in
      // An administrator may write everywhere.
      if getuid() == 0 { precondition(setuid(65_534) == 0) }
      do throws(JournalError) {
        _ = try SQLiteJournal.open(path: path)
        preconditionFailure("It was opened")
      } catch {
        precondition(error.kind == .unusable, "\(error)")
        precondition(error.description.contains("--no-journal"))
      }
    }
    chmod(folder.path, 0o755)
    #expect(folder.names == [])
  }

  @Test("A journal in a folder in which nothing can be written can be read")
  func readOnlyReading() async throws {
    do {
      let journal = try SQLiteJournal.open(path: folder.journal)
      try await journal.append([done(1), failed(2)])
      await journal.close()
    }
    chmod(folder.path, 0o555)
    await #expect(processExitsWith: .success) { [path = folder.journal as String] in
      if getuid() == 0 { precondition(setuid(65_534) == 0) }
      let summary = try SQLiteJournal.summary(path: path)
      precondition(summary?.done == 1 && summary?.failed == 1)
    }
    chmod(folder.path, 0o755)
    #expect(folder.names == ["journal.sqlite"])
  }

  // MARK: - Versions

  @Test("A journal of a later version is refused, and put aside if that is wished")
  func laterVersion() async throws {
    do {
      let journal = try SQLiteJournal.open(path: folder.journal)
      try await journal.append([done(1)])
      await journal.close()
    }
    try sql("PRAGMA user_version = 99")
    let error = try #require(refusal())
    #expect(error.kind == .foreign)
    #expect(error.description.contains("later version"))
    #expect(error.description.contains("--fresh"))
    #expect(throws: JournalError.self) { () throws in
      _ = try SQLiteJournal.summary(path: folder.journal)
    }

    let journal = try SQLiteJournal.open(path: folder.journal, discardingUnusable: true)
    #expect(try await journal.records(of: keys([1])) == [nil])
    await journal.close()
    #expect(folder.names == ["journal.sqlite", "journal.sqlite.unusable-1"])
  }

  @Test("A journal of version 0, marked as ours and empty, is brought to this version")
  func versionZero() async throws {
    try sql("PRAGMA application_id = \(Schema.applicationID)")
    let journal = try SQLiteJournal.open(path: folder.journal)
    try await journal.append([done(1)])
    #expect(try await journal.records(of: keys([1])) == [done(1)])
  }

  @Test("A journal of an earlier version keeps its records when it is brought to a later one")
  func migration() async throws {
    do {
      let journal = try SQLiteJournal.open(path: folder.journal)
      try await journal.append([done(1), failed(2)])
      await journal.close()
    }
    let later = Schema(
      steps: Schema.current.steps + [
        "ALTER TABLE run ADD COLUMN note TEXT; UPDATE journal SET done = done"
      ])
    for _ in 0..<2 {
      let journal = try SQLiteJournal.open(path: folder.journal, schema: later, folding: FoldPace())
      #expect(try await journal.records(of: keys([1, 2])) == [done(1), failed(2)])
      await journal.close()
    }
    // To a program of today this is a later version.
    #expect(refusal()?.kind == .foreign)
  }

  @Test("A step to a later version that fails leaves the journal as it was")
  func failedMigration() async throws {
    do {
      let journal = try SQLiteJournal.open(path: folder.journal)
      try await journal.append([done(1)])
      await journal.close()
    }
    let broken = Schema(
      steps: Schema.current.steps + ["DROP TABLE run; CREATE TABLE record (id INTEGER)"])
    #expect(throws: JournalError.self) { () throws in
      _ = try SQLiteJournal.open(path: folder.journal, schema: broken, folding: FoldPace())
    }
    let journal = try SQLiteJournal.open(path: folder.journal)
    #expect(try await journal.records(of: keys([1])) == [done(1)])
    _ = try await journal.begin(JournalRun(began: Date(), limit: 1))
  }

  // MARK: - Damage

  @Test("A journal full of zeros is damaged, and put aside if that is wished")
  func zeros() async throws {
    try folder.write([UInt8](repeating: 0, count: 8192), to: "journal.sqlite")
    let error = try #require(refusal())
    #expect(error.kind == .damaged)
    #expect(error.description.contains("--fresh"))
    #expect(folder["journal.sqlite"]?.count == 8192)
    for number in 1...2 {
      try folder.write([UInt8](repeating: 0, count: 8192), to: "journal.sqlite")
      let journal = try SQLiteJournal.open(path: folder.journal, discardingUnusable: true)
      try await journal.append([done(1)])
      await journal.close()
      #expect(folder["journal.sqlite.unusable-\(number)"]?.count == 8192)
    }
  }

  @Test("An empty file becomes a journal")
  func emptyFile() async throws {
    try folder.write([], to: "journal.sqlite")
    let journal = try SQLiteJournal.open(path: folder.journal)
    try await journal.append([done(1)])
    #expect(try SQLiteJournal.summary(path: folder.journal)?.done == 1)
  }

  @Test(
    "Tables that are not ours in a journal are damage",
    arguments: [
      "CREATE TABLE more (a)", "DROP TABLE run", "DROP INDEX unfinished",
      "CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END",
      "DROP TABLE place; CREATE VIEW place AS SELECT 1 AS key, 1 AS id",
      "DELETE FROM journal", "INSERT INTO journal VALUES (1, 2, 3, 4, 5, 6)",
      "UPDATE journal SET folded = 'x'", "UPDATE journal SET folded = 9223372036854775807",
      "UPDATE journal SET done = -1",
    ])
  func otherTables(change: String) async throws {
    do {
      let journal = try SQLiteJournal.open(path: folder.journal)
      try await journal.append([done(1)])
      await journal.close()
    }
    try sql(change)
    #expect(refusal()?.kind == .damaged)
    #expect(throws: JournalError.self) { () throws in
      _ = try SQLiteJournal.summary(path: folder.journal)
    }
    // What is put aside is put aside whole.
    let journal = try SQLiteJournal.open(path: folder.journal, discardingUnusable: true)
    #expect(try await journal.records(of: keys([1])) == [nil])
  }

  @Test(
    "A record that holds what no record can hold is damage, and no crash",
    arguments: [
      "state = 9", "state = 'done'", "url = x'00'", "url = CAST(x'ff' AS TEXT)", "name = NULL",
      "size = NULL", "size = -1", "size = 'x'", "digest = x'0102'", "digest = 'text'",
      "validator = x'07'", "validator = 'x', dated = 5", "key = 3",
      "state = 1", "state = 1, reason = 'nonsense', attempts = 1, message = '', remedy = 0",
      "state = 1, reason = 'dns', attempts = -1, message = '', remedy = 0",
      "state = 1, reason = 'dns', attempts = 1, message = '', remedy = 77",
      "state = 1, reason = 'dns', attempts = 1, message = '', remedy = 3, pause = x'01'",
    ])
  func wrongValues(change: String) async throws {
    do {
      // Folded, so that nothing looks at the record before it is asked for.
      let journal = try SQLiteJournal.open(
        path: folder.journal, folding: FoldPace(records: 2, step: 9))
      try await journal.append([done(1), done(2)])
      try await journal.forget()
      await journal.close()
    }
    try sql("UPDATE record SET \(change) WHERE key = 1")
    let journal = try SQLiteJournal.open(path: folder.journal)
    do throws(JournalError) {
      _ = try await journal.records(of: keys([1]))
      Issue.record("It was read")
    } catch {
      #expect(error.kind == .damaged)
    }
    #expect(try await journal.records(of: keys([2])).first??.state == done(2).state)
  }

  /// Makes a journal with a record, to be changed byte by byte.
  private func bytesOfJournal() async throws -> [UInt8] {
    let journal = try SQLiteJournal.open(path: folder.journal)
    try await journal.append([done(1)])
    await journal.close()
    return try #require(folder["journal.sqlite"])
  }

  /// Expects a journal to be refused as damaged, to be opened and to be read, and to stay as it is.
  private func expectDamaged(
    _ bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    try folder.write(bytes, to: "journal.sqlite")
    #expect(refusal()?.kind == .damaged, sourceLocation: sourceLocation)
    do throws(JournalError) {
      _ = try SQLiteJournal.summary(path: folder.journal)
      Issue.record("It was read", sourceLocation: sourceLocation)
    } catch {
      #expect(error.kind == .damaged, "\(error)", sourceLocation: sourceLocation)
    }
    let isSame = folder["journal.sqlite"] == bytes
    #expect(isSame, "It was changed", sourceLocation: sourceLocation)
    #expect(folder.names == ["journal.sqlite"], sourceLocation: sourceLocation)
  }

  // The mode that a run writes in was noted in the file before the file was found to be damaged.
  @Test(
    "A damaged journal is left as it is, also one that another program has used",
    arguments: ["CREATE TABLE more (a)", "UPDATE journal SET done = -1", "DROP TABLE run"])
  func damagedAfterUse(change: String) async throws {
    _ = try await bytesOfJournal()
    try sql("PRAGMA journal_mode = DELETE; \(change)")
    try expectDamaged(try #require(folder["journal.sqlite"]))
  }

  // It was given tables beside those that it had, and then refused for these.
  @Test("A journal of version 0 that holds something is damaged, and left as it is")
  func versionZeroWithTables() throws {
    try sql("PRAGMA application_id = \(Schema.applicationID); CREATE TABLE diary (day)")
    let before = folder["journal.sqlite"]
    #expect(refusal()?.kind == .damaged)
    let isSame = folder["journal.sqlite"] == before
    #expect(isSame)
  }

  // The first was opened, and refused the first record; the last was no damage but a mistake of ours.
  @Test(
    "A journal in a form of a later SQLite is damaged, and is neither opened nor changed",
    arguments: [18, 19, 47])
  func unknownForm(place: Int) async throws {
    var bytes = try await bytesOfJournal()
    bytes[place] = 9
    try expectDamaged(bytes)
  }

  // SQLite says that memory has run out, and the refusal said no more, nor what could be done.
  @Test("A journal whose tables seem to have names of gigabytes is damaged")
  func hugeNames() async throws {
    _ = try await bytesOfJournal()
    try sql(
      """
      PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM; PRAGMA journal_mode = WAL;
      PRAGMA wal_checkpoint(TRUNCATE)
      """)
    var bytes = try #require(folder["journal.sqlite"])
    let row = try #require(bytes.firstRange(of: Array("tableplaceplace".utf8))).lowerBound
    for index in row - 9..<row + 6 { bytes[index] = 0xff }
    try expectDamaged(bytes)
  }
}
