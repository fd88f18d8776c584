// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import TestSupport
import Testing

@testable import SQLiteJournal

@Suite("A journal", .timeLimit(.minutes(1)))
struct JournalTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test("gives back every record as it was, in this run and in the next", arguments: 0..<8)
  func roundTrip(seed: UInt64) async throws {
    var generator = SeededGenerator(seed: seed)
    let records = (0..<500).map { generator.record(key: $0) }
    let all = records.map(\.key)
    do {
      let journal = try SQLiteJournal.open(path: folder.journal)
      for start in stride(from: 0, to: records.count, by: 100) {
        try await journal.append(Array(records[start..<start + 100]))
      }
      let found = try await journal.records(of: all)
      for (found, record) in zip(found, records) { #expect(found == record) }
      await journal.close()
    }
    let journal = try SQLiteJournal.open(path: folder.journal)
    let found = try await journal.records(of: all)
    for (found, record) in zip(found, records) { #expect(found == record) }
  }

  @Test("knows nothing at first, and nothing of items that were never recorded")
  func unknown() async throws {
    let journal = try SQLiteJournal.open(path: folder.journal)
    #expect(try await journal.records(of: keys(0..<3)) == [nil, nil, nil])
    try await journal.append([done(1)])
    #expect(try await journal.records(of: keys(0..<3)) == [nil, done(1), nil])
    #expect(try await journal.records(of: []) == [])
  }

  @Test("tells the latest of an item's records, also within one call")
  func latest() async throws {
    let journal = try SQLiteJournal.open(path: folder.journal)
    try await journal.append([left(1), failed(2), done(1)])
    try await journal.append([done(2, bytes: 99)])
    #expect(
      try await journal.records(of: keys([2, 1, 2])) == [
        done(2, bytes: 99), done(1), done(2, bytes: 99),
      ])
  }

  @Test("keeps its number, by which its keys are made, and shares it with no other")
  func salt() async throws {
    let first = try SQLiteJournal.open(path: folder.journal)
    let salt = first.salt
    await first.close()
    #expect(try SQLiteJournal.open(path: folder.journal).salt == salt)
    #expect(try SQLiteJournal.open(path: folder.path + "/other").salt != salt)
  }

  @Test("leaves one file behind when it is closed")
  func oneFile() async throws {
    let journal = try SQLiteJournal.open(path: folder.journal)
    try await journal.append([done(1)])
    await journal.close()
    #expect(folder.names == ["journal.sqlite"])
    await #expect(throws: JournalError.self) { try await journal.append([done(2)]) }
  }

  @Test("serves many who add records at once, each with all of its own")
  func manyCallers() async throws {
    let journal = try SQLiteJournal.open(path: folder.journal)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in Int64(0)..<200 {
        group.addTask {
          let mine = (0..<5).map { done(number * 5 + $0) }
          try await journal.append(mine)
          let found = try await journal.records(of: mine.map(\.key))
          #expect(found == mine)
        }
      }
      try await group.waitForAll()
    }
    let found = try await journal.records(of: keys(0..<1000))
    #expect(found.count { $0 != nil } == 1000)
  }

  @Test("forgets without losing what it knows, and what is recorded later is not forgotten")
  func forget() async throws {
    var journal = try SQLiteJournal.open(path: folder.journal)
    try await journal.append([done(1), failed(2), partial(3), done(4)])
    try await journal.forget()
    try await journal.append([done(4, bytes: 5)])
    for _ in 0..<2 {
      let found = try await journal.records(of: keys(1...4))
      #expect(found.map { $0?.isForgotten } == [true, true, true, false])
      #expect(
        found.map { $0?.state }
          == [done(1), failed(2), partial(3), done(4, bytes: 5)].map(\.state))
      await journal.close()
      journal = try SQLiteJournal.open(path: folder.journal)
    }
  }

  @Test("that has been grown by ten items has no record of just these", arguments: [100, 40_000])
  func grownList(count: Int64) async throws {
    do {
      let journal = try SQLiteJournal.open(path: folder.journal)
      try await journal.append((0..<count).map { done($0 * 7919 % 1_000_003) })
      await journal.close()
    }
    let journal = try SQLiteJournal.open(path: folder.journal)
    let found = try await journal.records(
      of: keys((0..<count).map { $0 * 7919 % 1_000_003 } + (2_000_000..<2_000_010)))
    #expect(found.suffix(10).allSatisfy { $0 == nil })
    #expect(found.dropLast(10).allSatisfy { $0 != nil })
  }
}
