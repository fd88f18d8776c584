// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import TestSupport
import Testing

extension CommandRuns {
  @Suite("Lists that the command is given")
  struct ListTests {
    private let folder: TemporaryFolder
    private let origin: MisbehavingOrigin

    init() throws {
      folder = try TemporaryFolder()
      origin = try MisbehavingOrigin()
      origin.onEverythingElse(.ok("hello"))
    }

    @Test("A byte order mark, CRLF, CR, comments, blank lines and white space are no part of it")
    func lines() async throws {
      let list =
        "\u{FEFF}\(origin.url("/a"))\r\n# a comment\n\n  \(origin.url("/b")) \t\r\r\(origin.url("/c"))"
        + "\n#\(origin.url("/d"))\n\(origin.url("/e"))"
      let ending = try await fetch([], list: list)
      #expect(ending.status == 0)
      let done = try ending.events.of("done")
      #expect(
        Set(done.map { "\($0.line ?? -1) \($0.file ?? "")" }) == ["1 a", "4 b", "6 c", "8 e"])
      #expect(folder.files == ["a", "b", "c", "e"])
    }

    @Test("Every line of a list with bad lines ends once, and the run goes on")
    func badLines() async throws {
      let long = "\(origin.url())/" + String(repeating: "x", count: 70_000)
      let list = [
        "file:///etc/passwd", "ftp://host/a", "no address", "http://", "http://host:99999/",
        origin.url("/a"), long, "http://me:secret@/x", origin.url("/b"),
      ]
      let ending = try await fetch([], list: list.joined(separator: "\n"))
      let events = try ending.events
      #expect(ending.status == 1)
      #expect(events.endedIDs == Array(1...9))
      #expect(events.of("failed").allSatisfy { $0.reason == "bad-url" && $0.attempts == 0 })
      #expect(events.of("failed").compactMap(\.line).sorted() == [1, 2, 3, 4, 5, 7, 8])
      #expect(events.of("done").compactMap(\.file).sorted() == ["a", "b"])
      #expect(folder.files == ["a", "b"])
      #expect(ending.errors.contains("7 failed: bad-url\n  line 1: file:///etc/passwd: "))
      #expect(!(ending.output + ending.errors).contains("secret"))
    }

    @Test("Bytes that are no text are one failed item")
    func binary() async throws {
      try folder.write([0xff, 0xfe, 0x00, 0x41, 0x0a] + Array(origin.url("/a").utf8), to: "list")
      let ending = try await fetch(["-i", "\(folder.path)/list"])
      let events = try ending.events
      #expect(ending.status == 1)
      #expect(events.of("failed").map(\.line) == [1])
      #expect(events.of("failed").map(\.reason) == ["bad-url"])
      #expect(events.of("done").map(\.file) == ["a"])
    }

    @Test("An address that cannot be one is a failed item also as an argument")
    func argument() async throws {
      let ending = try await fetch(["file:///etc/passwd", "", "--", "-x", origin.url("/a")])
      let events = try ending.events
      #expect(ending.status == 1)
      #expect(events.of("failed").compactMap(\.line) == [0, 0, 0])
      #expect(events.of("failed").compactMap(\.url) == ["file:///etc/passwd", "", "-x"])
      #expect(events.of("done").map(\.line) == [0])
    }

    @Test("Arguments come before the list, in order")
    func argumentsFirst() async throws {
      let ending = try await fetch(
        ["-n1", "-", origin.url("/1"), origin.url("/2")],
        list: "\(origin.url("/3"))\n\(origin.url("/4"))")
      #expect(ending.status == 0)
      #expect(origin.record.requests.map(\.path) == ["/1", "/2", "/3", "/4"])
      #expect(try ending.events.of("started").compactMap(\.line) == [0, 0, 1, 2])
    }

    @Test("An empty list is a success", arguments: ["", "\n\n# nothing\r\n", "\u{FEFF}"])
    func empty(list: String) async throws {
      let ending = try await fetch([], list: list)
      #expect(ending.status == 0)
      #expect(try ending.events.map(\.event) == ["run", "summary"])
      #expect(folder.files.isEmpty)
    }

    @Test("A named pipe is a list like any other")
    func namedPipe() async throws {
      let path = "\(folder.path)/pipe"
      #expect(mkfifo(path, 0o600) == 0)
      let output = try TemporaryFolder()
      let run = try CommandRun(["fetch", "-i", path, "-o", output.path, "--events", "-"])
      let pipe = try #require(FileHandle(forWritingAtPath: path))
      try pipe.write(contentsOf: Data("\(origin.url("/a"))\n".utf8))
      await run.wait(for: #""event":"done""#)  // while the pipe is still open
      try pipe.write(contentsOf: Data(origin.url("/b").utf8))
      try pipe.close()
      #expect(await run.ending.status == 0)
      #expect(output.files == ["a", "b"])
    }

    @Test(
      "The output folder is made, whichever way it is written",
      arguments: ["new", "new/", "new//", "./new", "a/b/c/new", "a/../new", "a/./b//new/"])
    func outputFolder(path: String) async throws {
      let ending = try await CommandRun.ending(
        ["fetch", origin.url("/a"), "-o", path, "-q"], through: ["/usr/bin/env", "-C", folder.path])
      #expect(ending.status == 0)
      #expect(ending.errors.isEmpty)
      #expect(folder["\(path)/a"] == Array("hello".utf8))
    }

    @Test("A link to a folder is followed, one that leads nowhere is refused")
    func links() async throws {
      let path = folder.path
      let files = FileManager.default
      try files.createDirectory(atPath: "\(path)/real", withIntermediateDirectories: false)
      try files.createSymbolicLink(atPath: "\(path)/link", withDestinationPath: "real")
      try files.createSymbolicLink(atPath: "\(path)/broken", withDestinationPath: "nowhere")
      #expect(
        try await CommandRun.ending(["fetch", origin.url("/a"), "-o", "\(path)/link"]).status == 0)
      #expect(folder["real/a"] == Array("hello".utf8))
      let broken = try await CommandRun.ending(["fetch", origin.url("/a"), "-o", "\(path)/broken"])
      #expect(broken.status == 73)
      #expect(broken.errors == "batchwise: --output \(path)/broken: No such file or directory\n")
    }

    @Test("Without an option files go to the current folder")
    func currentFolder() async throws {
      let ending = try await CommandRun.ending(
        ["fetch", origin.url("/a")], through: ["/usr/bin/env", "-C", folder.path])
      #expect(ending.status == 0)
      #expect(folder.files == ["a"])
      let refused = try await CommandRun.ending(
        ["fetch", origin.url("/a")], through: ["/usr/bin/env", "-C", "/proc/self"])
      #expect(refused.status == 73)
      #expect(refused.errors.hasPrefix("batchwise: --output .: "))
      #expect(origin.record.requests.count == 1)
    }

    private func fetch(
      _ arguments: [String], list: String? = nil
    ) async throws -> CommandRun.Ending {
      try await CommandRun.ending(
        ["fetch", "-o", folder.path, "--events", "-"] + arguments,
        input: list.map { .text($0) } ?? .nothing)
    }
  }
}
