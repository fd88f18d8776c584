// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import CSQLite
import Foundation
import TestSupport
import Testing

@testable import SQLiteJournal

@Suite("A journal in trouble", .timeLimit(.minutes(1)))
struct JournalTroubleTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test(
    "says that the disk is full, keeps what it has, and goes on when there is room",
    .enabled(if: SmallDisk.isAllowed))
  func fullDisk() async throws {
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      precondition(SmallDisk.lay(onto: path, bytes: 1 << 20))
      // To be written by this thread, as the other ones do not see the small disk.
      let ballast = open(path + "/ballast", O_WRONLY | O_CREAT, 0o600)
      let content = [UInt8](repeating: 1, count: 300 << 10)
      precondition(write(ballast, content, content.count) == content.count)
      let journal = try SQLiteJournal.open(
        path: path + "/journal.sqlite", folding: FoldPace(records: 100, step: 16))
      var kept: Int64 = 0
      var failure: JournalError?
      while failure == nil {
        do throws(JournalError) {
          try await journal.append((kept..<kept + 20).map { done($0) })
          kept += 20
        } catch {
          failure = error
        }
      }
      precondition(failure?.kind == .diskFull, "\(failure.debugDescription)")
      precondition(failure?.description.contains("make room") == true)
      precondition(kept > 100)
      let found = try await journal.records(of: keys(0..<kept + 20))
      precondition(found == (0..<kept + 20).map { $0 < kept ? done($0) : nil })

      precondition(ftruncate(ballast, 0) == 0)
      // A fold that had no room either is told once more.
      try? await journal.append([done(kept)])
      try await journal.append((kept..<kept + 20).map { done($0) })
      let later = try await journal.records(of: keys(0..<kept + 20))
      precondition(later == (0..<kept + 20).map { done($0) })
    }
  }

  @Test("waits for no other program that has it locked for long")
  func lockedByOthers() async throws {
    let journal = try SQLiteJournal.open(path: folder.journal)
    try await journal.append([done(1)])
    var other: OpaquePointer?
    try #require(sqlite3_open(folder.journal, &other) == SQLITE_OK)
    defer { sqlite3_close(other) }
    try #require(sqlite3_exec(other, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_OK)
    do throws(JournalError) {
      try await journal.append([done(2)])
      Issue.record("It was written")
    } catch {
      #expect(error.kind == .inUse)
      #expect(error.description.contains("another program"))
    }
    try #require(sqlite3_exec(other, "ROLLBACK", nil, nil, nil) == SQLITE_OK)
    #expect(try await journal.records(of: keys([1, 2])) == [done(1), nil])
    try await journal.append([done(2)])
  }

  @Test("tells with the next record that it could not be brought up to date")
  func failedFold() async throws {
    let journal = try SQLiteJournal.open(
      path: folder.journal, folding: FoldPace(records: 10, step: 4))
    // Another program breaks the rules, so that the fold finds no table.
    var other: OpaquePointer?
    try #require(sqlite3_open(folder.journal, &other) == SQLITE_OK)
    defer { sqlite3_close(other) }
    try #require(sqlite3_exec(other, "DROP TABLE place", nil, nil, nil) == SQLITE_OK)
    var failure: JournalError?
    for key in Int64(0)..<100 where failure == nil {
      do throws(JournalError) { try await journal.append([done(key)]) } catch { failure = error }
    }
    #expect(failure != nil)
  }

  @Test("refuses a text that is longer than any address, and keeps the rest")
  func overlong() async throws {
    let journal = try SQLiteJournal.open(path: folder.journal)
    let text = String(repeating: "a", count: 2 << 20)
    await #expect(throws: JournalError.self) {
      try await journal.append([done(1), done(2, path: text)])
    }
    try await journal.append([done(3, path: String(repeating: "b", count: 70_000))])
    let found = try await journal.records(of: keys(1...3))
    #expect(found.map { $0 != nil } == [false, false, true])
  }

  #if os(Linux)
    @Test("takes no more memory when it knows more")
    func flatMemory() async throws {
      await #expect(processExitsWith: .success) { [path = folder.journal as String] in
        let journal = try SQLiteJournal.open(
          path: path, folding: FoldPace(records: 2_000, step: 256))
        func add(_ keys: Range<Int64>) async throws {
          for start in stride(from: keys.lowerBound, to: keys.upperBound, by: 500) {
            try await journal.append((start..<start + 500).map { done($0 &* 0x9E37_79B9 & .max) })
          }
        }
        try await add(0..<40_000)
        let before = residentMemory()
        try await add(40_000..<160_000)
        let growth = residentMemory() - before
        precondition(growth < 3 << 20, "\(growth)")
      }
    }
  #endif
}

#if os(Linux)
  private func residentMemory() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
  }
#endif
