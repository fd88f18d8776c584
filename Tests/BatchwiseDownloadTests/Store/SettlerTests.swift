// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import TestSupport
import Testing

@testable import BatchwiseDownload

/// What is written first, the row or the name, and what happens when there is no room for rows.
@Suite(.timeLimit(.minutes(1)))
struct SettlerTests {
  private let parent: TemporaryFolder
  private let folder: OutputFolder

  init() throws {
    parent = try TemporaryFolder()
    folder = try OutputFolder(path: parent.path)
  }

  @Test("A row is there before the file has its name")
  func rowFirst() async throws {
    let journal = MemoryJournal()
    journal.onAppend { [parent] _ in
      #expect(parent["a"] == nil)
      return nil
    }
    let settled = try await settler(journal).settle([.whole(try file("a", "new"))])
    #expect(settled.map(\.1.isDone) == [true])
    #expect(parent["a"] == Array("new".utf8))
  }

  @Test("A file that takes another's place has its name before the row is there")
  func nameFirst() async throws {
    try parent.write(Array("old".utf8), to: "a")
    let journal = MemoryJournal()
    journal.onAppend { [parent] _ in
      #expect(parent["a"] == Array("new".utf8))
      return nil
    }
    let settled = try await settler(journal).settle([.whole(try file("a", "new", replacing: true))])
    #expect(settled.map(\.1.isDone) == [true])
    #expect(journal.records.count == 1)
  }

  @Test("Where there is room for few rows, files are given up for the others", arguments: 1...9)
  func fewRows(most: Int) async throws {
    let full = JournalError(.diskFull, "Full")
    let journal = MemoryJournal()
    journal.onAppend { $0.count > most ? full : nil }
    let news = try (0..<10).map { DownloadNews.whole(try file("\($0)", "x")) }
    let settled = try await settler(journal).settle(news)
    let done = settled.prefix { $0.1.isDone }.count
    #expect(done >= 1 && done <= most && 2 * done >= min(most, 5), "\(done)")
    for (_, settlement) in settled[done...] {
      guard case .failed(let failure) = settlement else {
        Issue.record("\(settlement)")
        continue
      }
      #expect(failure.remedy == .moreRoom)
    }
    #expect(TemporaryFolder.names(in: parent.path).count == done)
    #expect(journal.records.count == done)
  }

  @Test("What needs no room for a file is recorded, whoever is given up, and parts stay until then")
  func rowsOfOthers() async throws {
    let full = JournalError(.diskFull, "Full")
    let journal = MemoryJournal()
    journal.onAppend { $0.count > 3 ? full : nil }
    try parent.write(Array("old".utf8), to: "9")
    let old = ResumePoint(validator: .entityTag("1"), total: nil)
    let new = ResumePoint(validator: .entityTag("2"), total: nil)
    let item = try PlannedItem(WorkItem(address: "http://h/part"), salt: 1)
    _ = try folder.partials()
    try parent.write([1], to: ".batchwise/" + old.partialKey(of: item.key).name)
    let news: [DownloadNews] = try [
      .whole(file("1", "x")), .whole(file("2", "x")), .whole(file("9", "new", replacing: true)),
      .kept(DownloadNews.Remains(item: item, resume: new), instead: old),
    ]
    let settled = try await settler(journal).settle(news)
    #expect(settled.map(\.1.isDone) == [true, false, true])
    #expect(journal.records.count == 3)
    #expect(journal.records[item.key]?.state == .partial(new))
    #expect(folder.partialSize(of: old.partialKey(of: item.key)) == nil)
  }

  @Test("An item that leaves a taken name alone has no row that says otherwise")
  func takenMeanwhile() async throws {
    let journal = MemoryJournal()
    journal.onAppend { [parent] _ in
      try? parent.write(Array("other".utf8), to: "a")
      return nil
    }
    let settler = Settler(journal: journal, folder: folder, collisions: .skip)
    let whole = try file("a", "mine!")
    let settled = try await settler.settle([.whole(whole)])
    guard case .skipped(.collision, _) = settled.first?.1 else {
      Issue.record("\(settled)")
      return
    }
    #expect(journal.records[whole.job.item.key]?.state == .left)
    #expect(parent["a"] == Array("other".utf8))
  }

  @Test("An item whose file cannot take the previous one's place keeps that one in mind")
  func previousStays() async throws {
    try parent.write(Array("old".utf8), to: "a")
    folder.protect(path: parent.path + "/a")
    let journal = MemoryJournal()
    let whole = try file("a", "new", replacing: true)
    let settled = try await settler(journal).settle([.whole(whole)])
    guard case .failed(let failure) = settled.first?.1 else {
      Issue.record("\(settled)")
      return
    }
    #expect(failure.reason == .name)
    #expect(journal.appended.value.count == 1)
    let record = try #require(journal.records[whole.job.item.key])
    #expect(record.state == .failed(failure, attempts: 0, nil))
    #expect(record.previous == whole.job.previous)
    #expect(parent["a"] == Array("old".utf8))
  }

  @Test("A part that somebody is writing is not removed")
  func partInUse() async throws {
    let item = try PlannedItem(WorkItem(address: "http://h/part"), salt: 1)
    let point = ResumePoint(validator: .entityTag("1"), total: nil)
    let key = point.partialKey(of: item.key)
    var part = try PartialFile(in: folder)
    try part.keep(for: key)
    folder.removePartial(key)
    #expect(folder.partialSize(of: key) == 0)
    try [1].withUnsafeBytes { try part.write($0) }
    #expect(folder.partialSize(of: key) == 8)
  }

  @Test("Where there is room for no row at all, no file has a name")
  func noRows() async throws {
    let full = JournalError(.diskFull, "Full")
    let news = try (0..<10).map { DownloadNews.whole(try file("\($0)", "x")) }
    let journal = MemoryJournal()
    journal.onAppend { _ in full }
    await #expect(throws: full) { try await settler(journal).settle(news) }
    #expect(TemporaryFolder.names(in: parent.path) == [])
  }

  private func settler(_ journal: MemoryJournal) -> Settler {
    Settler(journal: journal, folder: folder, collisions: .suffix)
  }

  private func file(_ name: String, _ text: String, replacing: Bool = false) throws -> WholeFile {
    let item = try PlannedItem(WorkItem(address: "http://h/" + name), salt: 1)
    var job = DownloadJob(1, item, path: item.path)
    if replacing {
      job.previous = StoredFile(path: name, bytes: 3, sha256: nil, validator: nil)
    }
    var partial = try PartialFile(in: folder)
    try Array(text.utf8).withUnsafeBytes { try partial.write($0) }
    let done = DownloadedFile(
      name: name, bytes: Int64(text.utf8.count), status: 200, attempts: 1, duration: .zero,
      proof: .length, sha256: nil)
    return WholeFile(partial, nil, of: job, done, validator: nil)
  }
}

extension Settlement {
  fileprivate var isDone: Bool { if case .done = self { true } else { false } }
}
