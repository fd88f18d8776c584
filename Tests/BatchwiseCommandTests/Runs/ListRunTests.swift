// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import TestSupport
import Testing

extension CommandRuns {
  @Suite("Lists with fields, and the list of what is not done")
  struct ListRunTests {
    private let setting: RunSetting
    private var origin: MisbehavingOrigin { setting.origin }

    init() throws {
      setting = try RunSetting()
      origin.onEverythingElse(.ok("hello"))
    }

    // MARK: - Formats

    /// How the command gets at a list.
    enum Way: CaseIterable { case file, pipe, input }

    @Test("Every format is found out, whichever way the list comes", arguments: Way.allCases)
    func formats(way: Way) async throws {
      let url = origin.url
      let lists = [
        "tsv":
          "url\tname\tsize\theader\n\(url("/1"))\ta/b/one.txt\t5\tX-A: 1\n\(url("/2"))\t\t\t\n",
        "csv":
          "\u{FEFF}name,url,note\r\n\"two, and \"\"more\"\".txt\",\"\(url("/1"))\",\"x\ny\"\r\n"
          + "c/d.txt,\(url("/2")),\r\n",
        "ndjson": """
        {"url":"\(url("/1"))","name":"e/\\u00fc.txt","header":["X-A: 1","X-B: 2"],"size":5}
        # a comment

        {"url":"\(url("/2"))","unknown":[1]}
        """,
      ]
      let names = [
        "tsv": ["2", "a/b/one.txt"], "csv": ["c/d.txt", "two, and \"more\".txt"],
        "ndjson": ["2", "e/ü.txt"],
      ]
      for (format, list) in lists {
        let setting = try RunSetting(origin)
        let ending = try await fetch(list, way, setting)
        #expect(ending.status == 0, "\(format)")
        let files = Set(setting.files.map(\.precomposedStringWithCanonicalMapping))
        #expect(files == Set(names[format] ?? []), "\(format)")
        let done = try ending.events.of("done")
        let lines = ["tsv": [2, 3], "csv": [2, 4], "ndjson": [1, 4]]
        #expect(done.compactMap(\.line).sorted() == lines[format], "\(format)")
        if format != "csv" {
          #expect(origin.record.requests.last { $0.path == "/1" }?.field("X-A") == "1", "\(format)")
        }
      }
    }

    private func fetch(
      _ list: String, _ way: Way, _ setting: RunSetting
    ) async throws -> CommandRun.Ending {
      let path = setting.folder.path + "/list"
      let arguments = ["fetch", "-o", setting.output, "--events", "-"]
      switch way {
      case .input: return try await CommandRun.ending(arguments, input: .text(list))
      case .file:
        try list.write(toFile: path, atomically: false, encoding: .utf8)
        return try await CommandRun.ending(arguments + ["-i", path])
      case .pipe:
        #expect(mkfifo(path, 0o600) == 0)
        let run = try CommandRun(arguments + ["-i", path])
        let pipe = try #require(FileHandle(forWritingAtPath: path))
        try pipe.write(contentsOf: Data(list.utf8))
        try pipe.close()
        return await run.ending
      }
    }

    @Test("A format that is named is not guessed, and a list that is none of it is refused")
    func named() async throws {
      let lines = try await setting.fetch(
        ["--format", "lines"], list: ["url\tname", origin.url("/1")])
      #expect(try lines.events.reasons["bad-url"]?.count == 1)
      #expect(lines.status == 1)
      let tsv = try await setting.fetch(["--format", "tsv"], list: [origin.url("/1")])
      #expect(tsv.status == 64)
      #expect(tsv.errors.contains("Line 1 is no header line"))
      #expect(origin.record.requests.count == 1)
    }

    @Test("Bad records are failed items with their lines, and the run goes on")
    func badRecords() async throws {
      let good = #"{"url":"\#(origin.url("/good"))"}"#
      let list = [
        "{", "[]", "5", #"{"name":"a"}"#, #"{"url":5}"#, good,
        #"{"url":"\#(origin.url("/a"))","size":-1}"#,
        #"{"url":"\#(origin.url("/a"))","header":"none"}"#,
        #"{"url":"\#(origin.url("/a"))","header":"A: b\r\nC: d"}"#,
        "{" + String(repeating: " ", count: 70_000) + "}", #"{"url":"\#(origin.url("/last"))"}"#,
      ]
      let ending = try await setting.fetch(["--format", "ndjson"], list: list)
      let events = try ending.events
      #expect(ending.status == 1)
      #expect(events.endedIDs == Array(1...list.count))
      #expect(events.of("failed").compactMap(\.line).sorted() == [1, 2, 3, 4, 5, 7, 8, 9, 10])
      #expect(events.of("failed").allSatisfy { $0.attempts == 0 })
      #expect(events.of("done").compactMap(\.file).sorted() == ["good", "last"])
      #expect(origin.record.requests.count == 2)
    }

    // MARK: - Names

    @Test("A name that would lead out of the folder fails, and nothing is asked for")
    func hostileNames() async throws {
      let names = [
        "../out", "a/../../out", "/etc/out", "a/..", "..", ".", "", "a//b", "a/", "..\\\\out",
        "C:\\\\out", "a\\u0000b", "a\\nb", ".batchwise/journal.sqlite", ".BATCHWISE/x",
        ".batchwise",
        ".batchwise./x", "a\\u202Eb", String(repeating: "x", count: 300), "./a",
      ]
      let list = names.map { #"{"url":"\#(origin.url("/x"))","name":"\#($0)"}"# }
      let ending = try await setting.fetch(list: list)
      let events = try ending.events
      #expect(ending.status == 1)
      #expect(events.endedIDs == Array(1...names.count))
      #expect(events.of("failed").allSatisfy { $0.reason == "name" })
      #expect(events.of("failed").count == names.count)
      #expect(origin.record.requests.isEmpty)
      #expect(setting.files.isEmpty)
      #expect(setting.folder.names == ["o"])
    }

    @Test("No link in the folder is followed, to a file or to a folder")
    func links() async throws {
      let files = FileManager.default
      let outside = setting.folder.path + "/outside"
      try files.createDirectory(atPath: outside, withIntermediateDirectories: false)
      try files.createDirectory(atPath: setting.output, withIntermediateDirectories: false)
      try Data("mine".utf8).write(to: URL(filePath: outside + "/file"))
      for (name, target) in [
        ("folder", "../outside"), ("file", "../outside/file"), ("new", "../new"),
      ] {
        try files.createSymbolicLink(
          atPath: setting.output + "/" + name, withDestinationPath: target)
      }
      let list = ["folder/evil", "file", "new", "folder/a/b"].map {
        #"{"url":"\#(origin.url("/\($0)"))","name":"\#($0)"}"#
      }
      for arguments in [["--collision", "overwrite"], ["--fresh"], ["--no-journal"]] {
        let ending = try await setting.fetch(arguments, list: list)
        #expect(try ending.events.endedIDs == [1, 2, 3, 4])
        #expect(TemporaryFolder.names(in: outside) == ["file"])
        #expect(setting.folder["outside/file"] == Array("mine".utf8))
        #expect(setting.folder.names == ["o", "outside"])
        let failed = try ending.events.of("failed")
        #expect(failed.count == 2 && failed.allSatisfy { $0.reason == "name" }, "\(arguments)")
      }
    }

    @Test("Hostile addresses get names that lie in the folder")
    func hostileAddresses() async throws {
      let paths = [
        "/../../etc/passwd", "/%2e%2e/%2e%2e/x", "/..%2f..%2fy", "/..%5c..%5cz", "/%00", "/%0a",
        "/.",
        "/..", "/.batchwise", "/%2Ebatchwise", "/~", "/a%2f", "/%ff%fe", "/C:", "/con", "/...",
        "/a?../../b", "/a;../b", "/%2e%2e%2f%2e%2e%2fetc%2fcron", "/ ", "/%20", "//", "/%7f",
      ]
      let ending = try await setting.fetch(list: paths.map(origin.url))
      #expect(ending.status == 0)
      #expect(try ending.events.endedIDs == Array(1...paths.count))
      #expect(setting.folder.names == ["o"])
      #expect(setting.files.allSatisfy { !$0.contains("/") && !$0.isEmpty })
      let ended = try ending.events.filter { $0.isEnding && $0.reason != "duplicate" }
      #expect(setting.files.count == ended.count)
    }

    // MARK: - What is not done

    @Test("It is made, empty, when everything is done")
    func nothingUnfinished() async throws {
      let path = setting.folder.path + "/unfinished"
      try Data("old\n".utf8).write(to: URL(filePath: path))
      #expect(
        try await setting.fetch(["--unfinished", path], list: [origin.url("/1")]).status == 0)
      #expect(setting.folder["unfinished"] == [])
      // As a list it is one without items.
      #expect(try await setting.fetch(["-i", path]).status == 0)
    }

    @Test("It holds every field of what has failed, and is a list for the next run")
    func unfinished() async throws {
      let path = setting.folder.path + "/unfinished"
      let digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
      let url = origin.url("/bad").replacing("http://", with: "http://me:pw@")
      let item =
        #"{"checksum":"sha256:\#(digest)","header":["X-A: 1","X-B: \"2\""],"name":"a/ü b.txt","#
        + #""size":5,"url":"\#(url)"}"#
      origin.on("/bad", .status(404))
      let list = [item, #"{"url":"\#(origin.url("/good"))"}"#, #"{"url":"ftp://h/x"}"#]
      for _ in 1...2 {
        let ending = try await setting.fetch(["--unfinished", path], list: list)
        #expect(ending.status == 1)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == item + "\n")
      }
      #expect(origin.record.count(of: "/bad") == 1)
      origin.on("/bad", .ok("hello"))
      let again = try await setting.fetch(["--retry-failed", "-i", path])
      #expect(again.status == 0)
      let request = try #require(origin.record.requests.last)
      #expect(request.field("X-A") == "1" && request.field("X-B") == "\"2\"")
      #expect(request.field("Authorization") == "Basic bWU6cHc=")
      #expect(try again.events.of("done").first?.proof == "checksum")
      setting.expectOnly(["a/ü b.txt": Array("hello".utf8), "good": Array("hello".utf8)])
    }

    @Test(
      "After an interrupt it holds what was in flight, what waited, and the unread rest of a file")
    func interrupted() async throws {
      let gate = MisbehavingOrigin.Gate()
      origin.on("/3", .held(at: gate, then: .ok("hello")))
      // Far more than is read ahead.
      let numbers = Array(1...5000)
      let path = setting.folder.path + "/unfinished"
      let list = setting.folder.path + "/list"
      try numbers.map { origin.url("/\($0)") + "\n" }.joined()
        .write(toFile: list, atomically: false, encoding: .utf8)
      let run = try setting.start(["-n", "1", "-i", list, "--unfinished", path])
      await gate.arrivals(1)
      run.send(SIGINT)
      let ending = await run.ending
      #expect(ending.status == 130)
      #expect(try ending.events.of("done").compactMap(\.file) == ["1", "2"])
      let left = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
      #expect(left.count == 4998)
      #expect(Set(left).count == 4998)
      #expect(left.contains { $0.contains(origin.url("/3") + "\"") })
      #expect(!left.contains { $0.contains(origin.url("/2") + "\"") })
      #expect(try await setting.status().output.contains("2 done, 10 B\n"))
    }

    @Test(
      "After an interrupt it holds all that was taken out of a pipe, which nobody can read again")
    func interruptedPipe() async throws {
      let gate = MisbehavingOrigin.Gate()
      origin.on("/3", .held(at: gate, then: .ok("hello")))
      // More than is read ahead, and no more than a pipe holds, so that all of it is taken at once.
      let numbers = Array(1...2000)
      let (path, pipe) = (setting.folder.path + "/unfinished", setting.folder.path + "/pipe")
      #expect(mkfifo(pipe, 0o600) == 0)
      let list = try #require(FileHandle(forUpdatingAtPath: pipe))
      try list.write(contentsOf: Data(numbers.map { origin.url("/\($0)") + "\n" }.joined().utf8))
      let run = try setting.start(["-n", "1", "-i", pipe, "--unfinished", path])
      await gate.arrivals(1)
      run.send(SIGINT)
      let ending = await run.ending
      try list.close()
      #expect(ending.status == 130)
      let left = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
      #expect(left.count == 1998)
      #expect(Set(left).count == 1998)
      #expect(try ending.events.last?.done == 2)
    }

    @Test("It cannot be the list that is read")
    func sameFile() async throws {
      let path = setting.folder.path + "/list"
      try Data((origin.url("/1") + "\n").utf8).write(to: URL(filePath: path))
      let ending = try await setting.fetch(["-i", path, "--unfinished", path])
      #expect(ending.status == 64)
      #expect(setting.folder["list"] == Array((origin.url("/1") + "\n").utf8))
    }
  }
}
