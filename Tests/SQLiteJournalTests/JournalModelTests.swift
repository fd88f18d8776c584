// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import TestSupport
import Testing

@testable import SQLiteJournal

/// A journal beside a dictionary, over thousands of steps in any order.
@Suite("A journal does as a dictionary does", .timeLimit(.minutes(1)))
struct JournalModelTests {
  private let pace = FoldPace(records: 300, step: 16)

  @Test("whatever is added, forgotten, closed and opened again", arguments: 0..<6)
  func anything(seed: UInt64) async throws {
    let folder = try TemporaryFolder()
    var generator = SeededGenerator(seed: seed)
    var model: [Int64: ItemRecord] = [:]
    var journal = try SQLiteJournal.open(path: folder.journal, folding: pace)
    for step in 0..<500 {
      switch Int.random(in: 0..<100, using: &generator) {
      case 0..<60:
        let count = Int.random(in: 1...20, using: &generator)
        try await add(count, to: journal, &model, &generator)
      case 60..<64:
        // Enough of them to begin a fold, which goes on while the next steps are made.
        try await add(250, to: journal, &model, &generator)
      case 64..<85:
        let wanted = keys((0..<50).map { _ in Int64.random(in: 0..<1_500, using: &generator) })
        let found = try await journal.records(of: wanted)
        let isEqual = found == wanted.map { model[$0.rawValue] }
        #expect(isEqual, "step \(step)")
      case 85..<88:
        try await journal.forget()
        for key in model.keys { model[key]?.isForgotten = true }
      case 88..<94:
        await journal.close()
        journal = try SQLiteJournal.open(path: folder.journal, folding: pace)
      default:
        let summary = try #require(try SQLiteJournal.summary(path: folder.journal, examples: 3))
        try compare(summary, with: model)
      }
    }
    let everything = try await journal.records(of: keys(0..<1_500))
    for key in Int64(0)..<1_500 where everything[Int(key)] != model[key] {
      Issue.record("\(key)")
    }
    try compare(try #require(try SQLiteJournal.summary(path: folder.journal)), with: model)
    var unfinished: [Int64] = []
    try SQLiteJournal.eachUnfinished(path: folder.journal) { unfinished.append($0.key.rawValue) }
    let expected = model.values.filter { !$0.isForgotten && !$0.isDone }.map(\.key.rawValue)
    let isEqual = unfinished.sorted() == expected.sorted()
    #expect(isEqual)
  }

  private func add(
    _ count: Int, to journal: SQLiteJournal, _ model: inout [Int64: ItemRecord],
    _ generator: inout SeededGenerator
  ) async throws {
    let records = (0..<count).map { _ in
      let key = Int64.random(in: 0..<1_500, using: &generator)
      // Random texts are the business of another test, and slow to make.
      return switch Int.random(in: 0..<8, using: &generator) {
      case 0: failed(key, DownloadFailure.Reason.allCases.randomElement(using: &generator) ?? .dns)
      case 1: partial(key)
      case 2: left(key)
      default: done(key, bytes: Int64.random(in: 0..<1000, using: &generator))
      }
    }
    try await journal.append(records)
    for record in records { model[record.key.rawValue] = record }
  }

  private func compare(_ summary: JournalSummary, with model: [Int64: ItemRecord]) throws {
    var expected = JournalSummary()
    var reasons: [DownloadFailure.Reason: Int] = [:]
    for record in model.values {
      guard !record.isForgotten else {
        expected.forgotten += 1
        continue
      }
      switch record.state {
      case .done(let file):
        expected.done += 1
        expected.bytes += file.bytes
      case .failed(let failure, _, _):
        expected.failed += 1
        reasons[failure.reason, default: 0] += 1
      case .partial: expected.partial += 1
      case .left: expected.left += 1
      }
    }
    #expect(summary.done == expected.done)
    #expect(summary.bytes == expected.bytes)
    #expect(summary.failed == expected.failed)
    #expect(summary.partial == expected.partial)
    #expect(summary.left == expected.left)
    #expect(summary.forgotten == expected.forgotten)
    #expect(summary.isInUse)
    let counts = Dictionary(uniqueKeysWithValues: summary.failures.map { ($0.reason, $0.count) })
    #expect(counts == reasons)
  }
}

extension ItemRecord {
  fileprivate var isDone: Bool { if case .done = state { true } else { false } }
}
