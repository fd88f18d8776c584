// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import Foundation
import TestSupport
import Testing

@testable import SQLiteJournal

/// Files with anything in them: they are used or refused, and nothing crashes.
@Suite("A journal with anything in it", .timeLimit(.minutes(1)))
struct JournalFuzzTests {
  @Test("is refused when it is random bytes", arguments: 0..<4)
  func randomBytes(seed: UInt64) async throws {
    var generator = SeededGenerator(seed: seed)
    let folder = try TemporaryFolder()
    for _ in 0..<50 {
      let count = Int.random(in: 1...20_000, using: &generator)
      var bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
      if Bool.random(using: &generator) {
        // As far as it looks like a database.
        bytes = Array("SQLite format 3\0".utf8) + [0x10, 0, 2, 2, 0, 64, 32, 32] + bytes
      }
      try folder.write(bytes, to: "journal.sqlite")
      #expect(throws: JournalError.self) { () throws in
        _ = try SQLiteJournal.open(path: folder.journal)
      }
      #expect(throws: JournalError.self) { () throws in
        _ = try SQLiteJournal.summary(path: folder.journal)
      }
      #expect(folder["journal.sqlite"] == bytes)
    }
  }

  @Test("is used or refused when some of it was changed", arguments: 0..<4)
  func changed(seed: UInt64) async throws {
    var generator = SeededGenerator(seed: seed)
    let whole = try await journal(&generator)
    var used = 0
    for _ in 0..<40 {
      let folder = try TemporaryFolder()
      try folder.write(change(whole, &generator), to: "journal.sqlite")
      do {
        _ = try SQLiteJournal.summary(path: folder.journal)
        try SQLiteJournal.eachUnfinished(path: folder.journal) { _ in }
      } catch is JournalError {}
      do throws(JournalError) {
        let journal = try SQLiteJournal.open(
          path: folder.journal, folding: FoldPace(records: 50, step: 8))
        let trouble = await useUp(journal)
        await journal.close()
        if let trouble { throw trouble }
        used += 1
      } catch {
        #expect([.damaged, .foreign].contains(error.kind), "\(error)")
      }
      // Whatever it was, a wish for a new one is met, unless it no longer looks like ours.
      do throws(JournalError) {
        let journal = try SQLiteJournal.open(path: folder.journal, discardingUnusable: true)
        try await journal.append([done(1)])
        await journal.close()
      } catch {
        #expect([.damaged, .foreign].contains(error.kind), "\(error)")
      }
    }
    #expect(used > 0 && used < 40)
  }

  /// Asks a journal everything and writes much to it; returns what went wrong.
  private func useUp(_ journal: SQLiteJournal) async -> JournalError? {
    do throws(JournalError) {
      _ = try await journal.records(of: keys(0..<600))
      for start in stride(from: Int64(0), to: 300, by: 50) {
        try await journal.append((start..<start + 50).map { left($0) })
      }
      try await journal.forget()
      return nil
    } catch {
      return error
    }
  }

  private func journal(_ generator: inout SeededGenerator) async throws -> [UInt8] {
    let folder = try TemporaryFolder()
    let journal = try SQLiteJournal.open(
      path: folder.journal, folding: FoldPace(records: 100, step: 8))
    for start in stride(from: Int64(0), to: 500, by: 50) {
      try await journal.append((start..<start + 50).map { generator.record(key: $0) })
    }
    await journal.close()
    return try #require(folder["journal.sqlite"])
  }

  private func change(_ whole: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
    var bytes = whole
    switch Int.random(in: 0..<5, using: &generator) {
    case 0:
      bytes = Array(bytes[..<Int.random(in: 1..<bytes.count, using: &generator)])
    case 1:
      // Few, so that some of it can still be used.
      for _ in 0..<Int.random(in: 1...2, using: &generator) {
        bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(
          in: 0...255, using: &generator)
      }
    case 2:
      let page = Int.random(in: 1..<bytes.count / 4096, using: &generator) * 4096
      for index in page..<page + 4096 { bytes[index] = 0 }
    case 3:
      let from = Int.random(in: 1..<bytes.count / 4096, using: &generator) * 4096
      let to = Int.random(in: 1..<bytes.count / 4096, using: &generator) * 4096
      for index in 0..<4096 { bytes[to + index] = bytes[from + index] }
    default:
      // The heads of pages, where a little does much.
      for _ in 0..<4 {
        let page = Int.random(in: 1..<bytes.count / 4096, using: &generator) * 4096
        bytes[page + Int.random(in: 0..<40, using: &generator)] = .random(
          in: 0...255, using: &generator)
      }
    }
    return bytes
  }
}
