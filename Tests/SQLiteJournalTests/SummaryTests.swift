// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import Foundation
import TestSupport
import Testing

@testable import SQLiteJournal

@Suite("What a journal knows as a whole", .timeLimit(.minutes(1)))
struct SummaryTests {
  private let folder: TemporaryFolder
  private let pace = FoldPace(records: 20, step: 4)

  init() throws { folder = try TemporaryFolder() }

  @Test("is nothing where there is no journal, and asking makes no file")
  func nothing() throws {
    #expect(try SQLiteJournal.summary(path: folder.journal) == nil)
    try SQLiteJournal.eachUnfinished(path: folder.journal) { _ in Issue.record("There is one") }
    #expect(folder.names == [])
    try folder.write([], to: "journal.sqlite")
    #expect(try SQLiteJournal.summary(path: folder.journal) == nil)
    #expect(folder.names == ["journal.sqlite"])
  }

  @Test("is told after the run without leaving a file behind")
  func afterwards() async throws {
    let journal = try SQLiteJournal.open(path: folder.journal)
    try await journal.append([done(1, bytes: 3), done(2, bytes: 4), left(3), partial(4)])
    await journal.close()
    var expected = JournalSummary()
    expected.done = 2
    expected.bytes = 7
    expected.left = 1
    expected.partial = 1
    #expect(try SQLiteJournal.summary(path: folder.journal) == expected)
    #expect(folder.names == ["journal.sqlite"])
  }

  @Test("groups failures by reason, the most frequent first, and names the first of each")
  func groups() async throws {
    let journal = try SQLiteJournal.open(path: folder.journal, folding: pace)
    for key in Int64(0)..<30 { try await journal.append([failed(key, key % 3 == 0 ? .dns : .tls)]) }
    try await journal.append([failed(100, .checksum), done(1)])
    let summary = try #require(try SQLiteJournal.summary(path: folder.journal, examples: 2))
    #expect(summary.failures.map(\.reason) == [.tls, .dns, .checksum])
    #expect(summary.failures.map(\.count) == [19, 10, 1])
    #expect(
      summary.failures[0].examples == [
        JournalSummary.Example(url: "http://example.org/2", message: "It went wrong"),
        JournalSummary.Example(url: "http://example.org/4", message: "It went wrong"),
      ])
    #expect(summary.failed == 30)
    #expect(summary.done == 1)
  }

  @Test("names every unfinished item once, failed ones first, in the order of their records")
  func everyOne() async throws {
    let journal = try SQLiteJournal.open(path: folder.journal, folding: pace)
    for start in stride(from: Int64(0), to: 3_000, by: 10) {
      try await journal.append((start..<start + 10).map { $0 % 3 == 0 ? left($0) : failed($0) })
    }
    try await journal.append((0..<1_000).map { done($0) })
    var records: [ItemRecord] = []
    try SQLiteJournal.eachUnfinished(path: folder.journal) { records.append($0) }
    let expected =
      (1_000..<3_000).filter { $0 % 3 != 0 }.map { failed($0) }
      + (1_000..<3_000).filter { $0 % 3 == 0 }.map { left($0) }
    let isEqual = records == expected
    #expect(isEqual)
  }

  @Test("is read one by one while a run goes on, however long the reader takes")
  func besideRun() async throws {
    let journal = try SQLiteJournal.open(path: folder.journal, folding: pace)
    for start in stride(from: Int64(0), to: 2_000, by: 100) {
      try await journal.append((start..<start + 100).map { failed($0) })
    }
    // A thread of its own reads, and this one makes items done while it is in the closure.
    let requests = AsyncStream.makeStream(of: Int64.self)
    let answers = DispatchSemaphore(value: 0)
    let path = folder.journal
    async let reading = onThread {
      var keys: [Int64] = []
      try SQLiteJournal.eachUnfinished(path: path) { record in
        keys.append(record.key.rawValue)
        requests.continuation.yield(record.key.rawValue)
        answers.wait()
      }
      requests.continuation.finish()
      return keys
    }
    for await key in requests.stream {
      // The item that is read is done, and so are some that were not read yet.
      try await journal.append([done(key), done(1_999 - key / 4)])
      answers.signal()
    }
    let keys = try await reading
    #expect(Set(keys).count == keys.count)
    #expect(keys == keys.sorted())
    #expect(keys.count < 2_000 && keys.count >= 1_500)
    #expect(try SQLiteJournal.summary(path: path)?.failed == 0)
  }

  @Test("does not let a slow reader make the log grow without end")
  func slowReader() async throws {
    let journal = try SQLiteJournal.open(path: folder.journal)
    try await journal.append((0..<10).map { failed($0) })
    let path = folder.journal
    let hasBegun = AsyncStream.makeStream(of: Void.self)
    let mayEnd = DispatchSemaphore(value: 0)
    async let reading = onThread {
      try SQLiteJournal.eachUnfinished(path: path) { record in
        guard record.key.rawValue == 0 else { return }
        hasBegun.continuation.yield()
        mayEnd.wait()
      }
    }
    for await _ in hasBegun.stream { break }
    for start in stride(from: Int64(100), to: 60_100, by: 1_000) {
      try await journal.append((start..<start + 1_000).map { done($0) })
    }
    let size =
      (try? FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int) ?? 0
    #expect(size < 6 << 20)
    mayEnd.signal()
    try await reading
  }

  @Test("tells the last run: under way, ended, or killed")
  func runs() async throws {
    let start = Date(timeIntervalSince1970: 1_700_000_000.25)
    var journal = try SQLiteJournal.open(path: folder.journal)
    #expect(try SQLiteJournal.summary(path: folder.journal)?.lastRun == nil)
    let number = try await journal.begin(JournalRun(began: start, limit: 8))
    var summary = try #require(try SQLiteJournal.summary(path: folder.journal))
    #expect(summary.lastRun == JournalRun(began: start, limit: 8))
    #expect(summary.isInUse)

    for ending in JournalRun.Ending.allCases {
      let end = JournalRun.End(
        time: start + 60, ending: ending, done: 1, failed: 2, skipped: 3, bytes: 4)
      try await journal.end(number, end)
      summary = try #require(try SQLiteJournal.summary(path: folder.journal))
      #expect(summary.lastRun?.end == end)
    }

    _ = try await journal.begin(JournalRun(began: start + 100, limit: 3))
    await journal.close()
    summary = try #require(try SQLiteJournal.summary(path: folder.journal))
    #expect(summary.lastRun == JournalRun(began: start + 100, limit: 3))
    #expect(!summary.isInUse)
    journal = try SQLiteJournal.open(path: folder.journal)
    #expect(try await journal.begin(JournalRun(began: start, limit: 1)) == 3)
  }
}

/// Runs the body on a thread of its own, which may wait as long as it likes.
private func onThread<Success: Sendable>(
  _ body: @escaping @Sendable () throws -> Success
) async throws -> Success {
  try await withCheckedThrowingContinuation { waiter in
    Thread { waiter.resume(with: Result { try body() }) }.start()
  }
}
