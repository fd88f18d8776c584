// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import Foundation
import TestSupport
import Testing

@testable import SQLiteJournal

private let pace = FoldPace(records: 200, step: 8)
private let batchSize: Int64 = 7

/// The records of a batch; every third batch has something new about items of earlier ones.
private func batch(_ number: Int64) -> [ItemRecord] {
  (0..<batchSize).map { index in
    let key = number % 3 == 2 ? (number - 2) * batchSize + index : number * batchSize + index
    return done(key, bytes: number, path: "batch-\(number)")
  }
}

@Suite("A run that is killed", .timeLimit(.minutes(1)))
struct JournalCrashTests {
  @Test("has lost nothing of what it was told is kept, at whatever moment it was killed")
  func killedAtRandom() async throws {
    let folder = try TemporaryFolder()
    var begun: Int64 = 0
    for round in 0..<20 {
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [
          path = folder.journal as String, acknowledged = folder.path + "/acknowledged" as String,
          begun = begun as Int64, round = round as Int
        ] in
        let acknowledgements = open(acknowledged, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        Thread {
          // No waiting for an event, but the point of the test: any moment will do.
          usleep(UInt32.random(in: 0...(round % 2 == 0 ? 3_000 : 60_000)))
          kill(getpid(), SIGKILL)
        }.start()
        let journal = try SQLiteJournal.open(path: path, folding: pace)
        var number = begun
        while true {
          try await journal.append(batch(number))
          withUnsafeBytes(of: number) { _ = write(acknowledgements, $0.baseAddress, $0.count) }
          number += 1
        }
      }
      let bytes = folder["acknowledged"] ?? []
      #expect(bytes.count % 8 == 0)
      begun = try await check(folder, acknowledged: begun + Int64(bytes.count / 8))
    }
    #expect(begun > 100)
  }

  /// Looks whether every batch that was acknowledged is there whole, and at most one more is.
  ///
  /// - Returns: How many batches are there.
  private func check(_ folder: TemporaryFolder, acknowledged: Int64) async throws -> Int64 {
    let journal = try SQLiteJournal.open(path: folder.journal, folding: pace)
    let most = acknowledged + 3
    let found = try await journal.records(of: keys(0..<most * batchSize))
    let next = batch(acknowledged)
    let hasNext = try await journal.records(of: next.map(\.key)) == next
    let there = acknowledged + (hasNext ? 1 : 0)
    var expected: [Int64: ItemRecord] = [:]
    for number in 0..<there {
      for record in batch(number) { expected[record.key.rawValue] = record }
    }
    let isRight = found == (0..<most * batchSize).map { expected[$0] }
    #expect(isRight, "after \(acknowledged) batches")
    await journal.close()
    let summary = try SQLiteJournal.summary(path: folder.journal)
    #expect((summary?.done ?? 0) == expected.count)
    let bytes = expected.values.reduce(Int64(0)) { sum, record in
      if case .done(let file) = record.state { sum + file.bytes } else { sum }
    }
    #expect((summary?.bytes ?? 0) == bytes)
    return there
  }

  // MARK: - Torn files

  /// A journal as a kill leaves it: batches partly folded, much of it beside the file.
  private func killedJournal(batches: Int64) async throws -> (main: [UInt8], log: [UInt8]) {
    let folder = try TemporaryFolder()
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = folder.journal as String, batches = batches as Int64] in
      let journal = try SQLiteJournal.open(path: path, folding: FoldPace(records: 60, step: 8))
      for number in 0..<batches { try await journal.append(batch(number)) }
      kill(getpid(), SIGKILL)
      withExtendedLifetime(journal) {}
    }
    return (try #require(folder["journal.sqlite"]), try #require(folder["journal.sqlite-wal"]))
  }

  @Test("opens with whole batches from the first on when its log is cut off anywhere")
  func cutLog() async throws {
    let (main, log) = try await killedJournal(batches: 40)
    var lengths = Set<Int64>()
    for length in Array(stride(from: 0, to: log.count, by: log.count / 100)) + [log.count] {
      lengths.insert(try await reopen(main, Array(log[..<length]), batches: 40))
    }
    #expect(lengths.contains(40))
    #expect(lengths.count > 10)
  }

  @Test("opens with whole batches from the first on when a byte of its log is another")
  func flippedLog() async throws {
    let (main, log) = try await killedJournal(batches: 40)
    var lengths = Set<Int64>()
    for position in stride(from: 0, to: log.count, by: log.count / 99) {
      var log = log
      log[position] ^= 1 << (position % 8)
      lengths.insert(try await reopen(main, log, batches: 40))
    }
    #expect(lengths.count > 10)
  }

  @Test("opens with whole batches from the first on when its log ends in zeros")
  func zeroedLog() async throws {
    let (main, log) = try await killedJournal(batches: 40)
    for length in stride(from: 0, through: log.count, by: log.count / 30) {
      let torn = log[..<length] + [UInt8](repeating: 0, count: log.count - length)
      _ = try await reopen(main, Array(torn), batches: 40)
    }
  }

  @Test("tells nothing that never was when its log is damaged that was partly written into it")
  func damagedAfterCheckpoint() async throws {
    let folder = try TemporaryFolder()
    let count: Int64 = 900
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = folder.journal as String, count = count as Int64] in
      let journal = try SQLiteJournal.open(path: path, folding: FoldPace(records: 60, step: 8))
      for number in 0..<count { try await journal.append(batch(number)) }
      kill(getpid(), SIGKILL)
      withExtendedLifetime(journal) {}
    }
    let main = try #require(folder["journal.sqlite"])
    let log = try #require(folder["journal.sqlite-wal"])
    // So much was written that it must have begun anew.
    #expect(main.count > 100_000 && log.count > 3 << 20)
    var versions: [Int64: [ItemRecord]] = [:]
    for number in 0..<count {
      for record in batch(number) { versions[record.key.rawValue, default: []].append(record) }
    }
    let all = keys(0..<count * batchSize)
    for position in stride(from: 40, to: log.count, by: log.count / 15) {
      let torn = try TemporaryFolder()
      var log = log
      log[position] ^= 0x40
      try torn.write(main, to: "journal.sqlite")
      try torn.write(log, to: "journal.sqlite-wal")
      do throws(JournalError) {
        let journal = try SQLiteJournal.open(path: torn.journal)
        let found = try await journal.records(of: all)
        let isKnown = zip(all, found).allSatisfy { key, record in
          record.map { versions[key.rawValue]?.contains($0) == true } ?? true
        }
        #expect(isKnown, "at \(position)")
      } catch {
        #expect(error.kind == .damaged, "\(error)")
      }
    }
  }

  /// Opens the journal, and looks whether it knows some of the first batches and nothing else.
  ///
  /// - Returns: How many batches it knows, or -1 if it was refused as damaged.
  private func reopen(
    _ main: [UInt8], _ log: [UInt8], batches: Int64
  ) async throws -> Int64 {
    let folder = try TemporaryFolder()
    try folder.write(main, to: "journal.sqlite")
    try folder.write(log, to: "journal.sqlite-wal")
    let journal: SQLiteJournal
    do throws(JournalError) {
      journal = try SQLiteJournal.open(path: folder.journal)
    } catch {
      #expect(error.kind == .damaged)
      return -1
    }
    let found = try await journal.records(of: keys(0..<batches * batchSize))
    var expected: [Int64: ItemRecord] = [:]
    for count in 0...batches {
      if found == (0..<batches * batchSize).map({ expected[$0] }) { return count }
      for record in batch(count) { expected[record.key.rawValue] = record }
    }
    Issue.record("It knows something that never was")
    return -2
  }
}
