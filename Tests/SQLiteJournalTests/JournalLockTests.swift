// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import Foundation
import TestSupport
import Testing

@testable import SQLiteJournal

@Suite("Two runs on one journal", .timeLimit(.minutes(1)))
struct JournalLockTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test("The second is refused at once and told by whom, and may come when the first has ended")
  func second() async throws {
    let first = try SQLiteJournal.open(path: folder.journal)
    // A relative path, or one through a link to the folder, is the same journal.
    let link = folder.path + "/link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.path)
    for path in [folder.journal, link + "/journal.sqlite", folder.path + "/./journal.sqlite"] {
      do throws(JournalError) {
        _ = try SQLiteJournal.open(path: path, discardingUnusable: true)
        Issue.record("It was opened")
      } catch {
        #expect(error.kind == .inUse)
        #expect(error.description.contains(path))
        #expect(error.description.contains("(process \(getpid()))"))
        #expect(error.description.contains("Wait until"))
      }
    }
    try await first.append([done(1)])
    await first.close()
    let second = try SQLiteJournal.open(path: folder.journal)
    #expect(try await second.records(of: keys([1])) == [done(1)])
  }

  @Test("A run whose files were removed takes no other's lock away at its end")
  func removed() async throws {
    let first = try SQLiteJournal.open(path: folder.journal)
    for name in folder.names {
      try FileManager.default.removeItem(atPath: folder.path + "/" + name)
    }
    let second = try SQLiteJournal.open(path: folder.journal)
    await first.close()
    #expect(throws: JournalError.self) { () throws in
      _ = try SQLiteJournal.open(path: folder.journal)
    }
    try await second.append([done(1)])
    #expect(try SQLiteJournal.summary(path: folder.journal)?.done == 1)
  }

  // Now and then it was still held by who had written the last records and was answering the callers.
  @Test("A journal that is no longer held is free")
  func dropped() async throws {
    for number in Int64(0)..<100 {
      let journal = try SQLiteJournal.open(path: folder.journal)
      try await journal.append([done(number)])
    }
    #expect(try SQLiteJournal.summary(path: folder.journal)?.done == 100)
  }

  @Test("Another process is refused, can read, and does no harm by it")
  func otherProcess() async throws {
    let journal = try SQLiteJournal.open(path: folder.journal)
    try await journal.append([done(1), failed(2)])
    await #expect(processExitsWith: .success) { [path = folder.journal as String] in
      do throws(JournalError) {
        _ = try SQLiteJournal.open(path: path)
        preconditionFailure("It was opened")
      } catch {
        precondition(error.kind == .inUse)
      }
      let summary = try SQLiteJournal.summary(path: path)
      precondition(summary?.done == 1 && summary?.failed == 1 && summary?.isInUse == true)
      var count = 0
      try SQLiteJournal.eachUnfinished(path: path) { _ in count += 1 }
      precondition(count == 1)
    }
    // The reader was no last one, that would have cleared away what this run still writes to.
    try await journal.append([done(3)])
    #expect(try await journal.records(of: keys([1, 3])) == [done(1), done(3)])
    await journal.close()
    #expect(try SQLiteJournal.summary(path: folder.journal)?.done == 2)
  }

  @Test("The lock of a killed run does not stand")
  func killed() async throws {
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.journal as String] in
      let journal = try SQLiteJournal.open(path: path)
      try await journal.append([done(1)])
      kill(getpid(), SIGKILL)
      withExtendedLifetime(journal) {}
    }
    #expect(folder.names.contains("journal.sqlite-lock"))
    #expect(try SQLiteJournal.summary(path: folder.journal)?.isInUse == false)
    let journal = try SQLiteJournal.open(path: folder.journal)
    #expect(try await journal.records(of: keys([1])) == [done(1)])
    await journal.close()
    #expect(folder.names == ["journal.sqlite"])
  }

  @Test("Of many that come at once, one has it at a time")
  func manyAtOnce() async throws {
    await withTaskGroup(of: Void.self) { group in
      for task in Int64(0)..<8 {
        group.addTask { [path = folder.journal] in
          for round in Int64(0)..<20 {
            do throws(JournalError) {
              let journal = try SQLiteJournal.open(path: path)
              try await journal.append([done(task * 100 + round)])
              await journal.close()
            } catch {
              #expect(error.kind == .inUse, "\(error)")
            }
          }
        }
      }
    }
    let journal = try SQLiteJournal.open(path: folder.journal)
    #expect(try await journal.records(of: keys(0..<800)).contains { $0 != nil })
  }
}
