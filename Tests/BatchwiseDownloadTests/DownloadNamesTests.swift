// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseDownload

@Suite(.timeLimit(.minutes(2)))
struct DownloadNamesTests {
  private static let pair = ["http://h/1/a.png", "http://h/2/a.png"]

  @Test(
    "Two addresses that wish for one name get the same two files, whichever is faster",
    arguments: [0, 1], [1, 2])
  func whicheverIsFaster(first: Int, limit: Int) async throws {
    let folder = try TemporaryFolder()
    let finished = Watched<Set<String>>([])
    let fetch = try Fetch(into: folder, limit: limit) { url in
      if limit == 2, url != Self.pair[first] {
        await finished.wait { $0.contains(Self.pair[first]) }
      }
      return .file(url)
    }
    let watching = Task {
      await fetch.log.kept.wait { $0.contains { $0.kind.word == "done" } }
      finished.update { $0 = Set(fetch.log.files.keys) }
    }
    let report = await fetch.run(Self.pair)
    await watching.value

    #expect(report.status.done == 2)
    let second = try WebAddress(Self.pair[1])
    let alternative = FileName(for: second).alternative(for: second).description
    #expect(fetch.log.files == [Self.pair[0]: "a.png", Self.pair[1]: alternative])
    #expect(folder.names == [alternative, "a.png"].sorted())
    #expect(folder["a.png"] == Array(Self.pair[0].utf8))
    #expect(folder[alternative] == Array(Self.pair[1].utf8))
  }

  @Test("Whatever the limit and the order of finishing, each address gets the same file")
  func manyForOneName() async throws {
    let addresses = (0..<60).map { "http://h/\($0)/a.png" }
    var expected: [String: String]?
    for (limit, seed) in [(1, 0), (2, 1), (7, 2), (60, 3), (60, 4)] {
      let random = Watched(SeededGenerator(seed: UInt64(seed)))
      let fetch = try Fetch(limit: limit) { url in
        for _ in 0..<random.update({ Int.random(in: 0...20, using: &$0) }) { await Task.yield() }
        return .file("the same in all")
      }
      let report = await fetch.run(addresses)
      #expect(report.status.done == 60)
      #expect(Set(fetch.log.files.values).count == 60)
      if expected == nil { expected = fetch.log.files }
      #expect(fetch.log.files == expected)
    }
  }

  @Test(
    "A second run finds everything unchanged and adds nothing, also when much wishes for one name",
    arguments: [true, false])
  func secondRun(namelessFiles: Bool) async throws {
    let folder = try TemporaryFolder()
    let addresses = (0..<30).map { "http://h/\($0)/\($0 % 4).png" }
    var first: [String: String]?
    var names: [String]?
    for time in 0..<3 {
      let fetch = try Fetch(into: folder, namelessFiles: namelessFiles) { .file($0) }
      let report = await fetch.run(addresses)
      #expect(report.status.done == (time == 0 ? 30 : 0))
      #expect(report.status.skipped == (time == 0 ? 0 : 30))
      #expect(fetch.log.files == first ?? fetch.log.files)
      #expect(folder.names == names ?? folder.names)
      first = fetch.log.files
      names = folder.names
    }
  }

  @Test("Changed content gets the alternative name, and nothing is ever replaced")
  func changedContent() async throws {
    let folder = try TemporaryFolder()
    let address = try WebAddress("http://h/a.png")
    let alternative = FileName(for: address).alternative(for: address).description
    func run(_ text: String) async throws -> [DownloadEvent.Kind]? {
      let fetch = try Fetch(into: folder) { _ in .file(text) }
      await fetch.run(["http://h/a.png"])
      return fetch.log.endings[1]
    }
    _ = try await run("old")
    #expect(try await run("new")?.first?.word == "done")
    #expect(folder["a.png"] == Array("old".utf8))
    #expect(folder[alternative] == Array("new".utf8))

    #expect(try await run("old") == [.skipped(.unchanged, file: "a.png")])
    #expect(try await run("new") == [.skipped(.unchanged, file: alternative)])
    // With both names taken there is nowhere left to put a third.
    #expect(try await run("newest")?.first?.word == "failed")
    #expect(folder.names.count == 2)
  }

  @Test("Two runs at once into one folder disturb neither, and no file is torn")
  func twoRunsAtOnce() async throws {
    let folder = try TemporaryFolder()
    let addresses = (0..<100).map { "http://h/\($0)" }
    let body = String(repeating: "x", count: 10_000)
    for namelessFiles in [true, false] {
      let runs = try (0..<2).map { _ in
        try Fetch(into: folder, limit: 7, namelessFiles: namelessFiles) { _ in .file(body) }
      }
      await withTaskGroup { group in
        for fetch in runs { group.addTask { await fetch.run(addresses) } }
      }
      for fetch in runs { #expect(fetch.log.failures == [:]) }
    }
    for name in folder.names where name != ".batchwise" {
      #expect(folder[name]?.count == body.utf8.count)
    }
  }
}
