// SPDX-License-Identifier: Apache-2.0

import Foundation
import SQLiteJournal
import TestSupport
import Testing

extension CommandRuns {
  @Suite("Names of files, and two items that want one")
  struct CollisionRunTests {
    private let setting: RunSetting
    private var origin: MisbehavingOrigin { setting.origin }

    init() throws {
      setting = try RunSetting()
      origin.onEverythingElse(
        MisbehavingOrigin.Behaviour { exchange in
          MisbehavingOrigin.Behaviour.ok(exchange.request.target).play(exchange)
        })
    }

    /// Three items that want one name, and what each of them is answered with.
    private var list: [String] { ["/a.tar.gz?1", "/a.tar.gz?2", "/b/a.tar.gz"].map(origin.url) }

    private func content(_ name: String) -> String? {
      setting[name].map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("With a suffix each has its own, the same in every run and in every order")
    func suffix() async throws {
      let first = try await setting.fetch(["-n", "3"], list: list)
      #expect(first.status == 0)
      let names = setting.files
      #expect(names.count == 3 && names.contains("a.tar.gz"))
      #expect(names.allSatisfy { $0.hasPrefix("a") && $0.hasSuffix(".tar.gz") })
      #expect(content("a.tar.gz") == "/a.tar.gz?1")
      let again = try await setting.fetch(["--fresh", "-n", "1"], list: list)
      #expect(again.status == 0)
      #expect(setting.files == names)
      let reversed = try await setting.fetch(list: list.reversed())
      #expect(try reversed.events.reasons.mapValues(\.count) == ["already-done": 3])
      let files = try reversed.events.of("skipped").compactMap(\.file)
      #expect(files.last == "a.tar.gz" && files.sorted() == names)
      // One that comes later gets none that is taken.
      let more = try await setting.fetch(list: [origin.url("/c/a.tar.gz")] + list)
      #expect(more.status == 0)
      #expect(setting.files.count == 4)
      #expect(content("a.tar.gz") == "/a.tar.gz?1")
    }

    @Test("Skipping asks for the first one only, and names the file that was there")
    func skip() async throws {
      for _ in 1...2 {
        let ending = try await setting.fetch(["--collision", "skip"], list: list)
        #expect(ending.status == 0)
        let skipped = try ending.events.of("skipped")
        #expect(skipped.suffix(2).map(\.reason) == ["collision", "collision"])
        #expect(skipped.allSatisfy { $0.file == "a.tar.gz" })
      }
      #expect(origin.record.requests.map(\.target) == ["/a.tar.gz?1"])
      #expect(setting.files == ["a.tar.gz"])
      // Also for what nobody has recorded.
      try Data("mine".utf8).write(to: URL(filePath: setting.output + "/d"))
      let ending = try await setting.fetch(["--collision", "skip"], list: [origin.url("/d")])
      #expect(try ending.events.of("skipped").map(\.reason) == ["collision"])
      #expect(content("d") == "mine")
      #expect(origin.record.requests.count == 1)
    }

    @Test("What the run itself uses is not overwritten, whatever the list says")
    func ownFiles() async throws {
      let folder = setting.output
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      let names = [
        "list", "events", "rest", "journal", "journal-wal", "journal-shm", "journal-lock",
      ]
      let list = names.map { name -> String in
        origin.on("/" + name, .ok("download"))
        return origin.url("/" + name)
      }
      let text = list.map { $0 + "\n" }.joined()
      try setting.folder.write(Array(text.utf8), to: "o/list")
      let run = try CommandRun([
        "fetch", "-o", folder, "--collision", "overwrite", "-i", folder + "/list", "--events",
        folder + "/events", "--unfinished", folder + "/rest", "--journal", folder + "/journal",
      ])
      let ending = await run.ending
      #expect(ending.status == 1)
      let events = try LoggedEvent.read(
        String(decoding: try #require(setting["events"]), as: UTF8.self))
      #expect(events.of("failed").count == names.count)
      #expect(events.of("failed").allSatisfy { $0.reason == "name" })
      #expect(setting["list"] == Array(text.utf8))
      for name in names.dropFirst() { #expect(setting[name] != Array("download".utf8)) }
      #expect(try SQLiteJournal.summary(path: folder + "/journal")?.failed == names.count)
    }

    @Test("Overwriting lets the later one have it")
    func overwrite() async throws {
      try FileManager.default.createDirectory(
        atPath: setting.output, withIntermediateDirectories: true)
      try Data("mine".utf8).write(to: URL(filePath: setting.output + "/a.tar.gz"))
      let ending = try await setting.fetch(["--collision", "overwrite", "-n", "1"], list: list)
      #expect(ending.status == 0)
      #expect(try ending.events.endedIDs == [1, 2, 3])
      #expect(setting.files == ["a.tar.gz"])
      #expect(content("a.tar.gz") == "/b/a.tar.gz")
    }

    @Test("Failing keeps the first one and says why the others have none")
    func fail() async throws {
      let ending = try await setting.fetch(["--collision", "fail"], list: list)
      #expect(ending.status == 1)
      #expect(try ending.events.reasons["name"] == Array(list[1...]))
      #expect(setting.files == ["a.tar.gz"])
      #expect(content("a.tar.gz") == "/a.tar.gz?1")
      #expect(origin.record.requests.count == 1)
    }

    @Test("Names by hash and by number are the same in every run", arguments: ["hash", "index"])
    func names(how: String) async throws {
      let first = try await setting.fetch(["--names", how], list: list)
      #expect(first.status == 0)
      let names = setting.files
      #expect(names.count == 3 && names.allSatisfy { $0.hasSuffix(".gz") })
      if how == "index" {
        #expect(names.map { $0.prefix(8) } == ["00000001", "00000002", "00000003"])
      }
      for arguments in [[], ["--fresh"], ["--no-journal"]] {
        let again = try await setting.fetch(["--names", how] + arguments, list: list)
        #expect(again.status == 0, "\(arguments)")
        #expect(setting.files == names, "\(arguments)")
      }
    }

    @Test("Names that differ in letter case alone do not meet where there is no such difference")
    func letterCase() async throws {
      let list = ["/Picture.PNG", "/picture.png", "/PICTURE.png"].map(origin.url)
      let ending = try await setting.fetch(list: list)
      #expect(ending.status == 0)
      let names = setting.files
      #expect(Set(names.map { $0.lowercased() }).count == 3)
      #expect(content("Picture.PNG") == "/Picture.PNG")
      #expect(try await setting.fetch(["--fresh"], list: list).status == 0)
      #expect(setting.files == names)
    }

    @Test("A thousand addresses that differ in their queries are a thousand files, in every run")
    func queries() async throws {
      let list = (1...1000).map { origin.url("/get?id=\($0)") }
      #expect(try await setting.fetch(list: list).status == 0)
      let names = setting.files
      #expect(names.count == 1000)
      let again = try await setting.fetch(list: list.shuffled())
      #expect(try again.events.reasons.mapValues(\.count) == ["already-done": 1000])
      for event in try again.events.of("skipped") {
        let target = (event.url ?? "").dropFirst(origin.url("").count)
        if content(event.file ?? "") != String(target) {
          Issue.record("\(event.file ?? "") is not that of \(target)")
        }
      }
      #expect(setting.files == names)
    }
  }
}
