// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import TestSupport
import Testing

@testable import BatchwiseDownload

extension CommandRuns {
  @Suite("What becomes of each item")
  struct OutcomeTests {
    private let folder: TemporaryFolder
    private let origin: MisbehavingOrigin

    init() throws {
      folder = try TemporaryFolder()
      origin = try MisbehavingOrigin()
      origin.onEverythingElse(.ok("hello"))
    }

    @Test("Every reason that can be provoked is told, and each item ends once")
    func reasons() async throws {
      let nginx = try Nginx()
      let closedPort = try LoopbackListener().port
      origin.on("/missing", .status(404))
      origin.on("/teapot", .status(418, "no file"))
      origin.on("/short", .endsEarly(after: 3, of: 10))
      origin.on("/cut", .chunkedCutOff(["abc"]))
      origin.on("/reset", .resets(.inBody))
      origin.on("/garbage", .garbage)
      origin.on("/huge", .hugeHead(500_000))
      origin.on("/loop", .redirect(to: "/loop"))
      origin.on("/elsewhere", .redirect(to: "file:///etc/passwd"))
      let taken = origin.url("/taken")
      try take(taken)
      let expected: [String: Set<String>] = [
        "bad-url": ["ftp://host/a"],
        "dns": ["http://no-such-host.invalid/a"],
        "connect": ["http://127.0.0.1:\(closedPort)/a"],
        "tls": ["https://127.0.0.1:\(nginx.port)/a"],
        "status": [origin.url("/missing"), origin.url("/teapot")],
        "truncated": [origin.url("/short"), origin.url("/cut"), origin.url("/reset")],
        "protocol": [origin.url("/garbage"), origin.url("/huge")],
        "redirect": [origin.url("/loop"), origin.url("/elsewhere")],
        "name": [taken],
        "duplicate": [origin.url("/good")],
      ]
      let list = expected.values.flatMap(\.self) + [origin.url("/good"), origin.url("/good")]
      let ending = try await fetch(
        ["-n", "4", "--retries", "1"], list: Set(list).sorted() + [origin.url("/good")])
      let events = try ending.events

      #expect(ending.status == 1)
      #expect(events.reasons.mapValues(Set.init) == expected)
      #expect(events.endedIDs == Array(1...16))
      #expect(events.of("done").map(\.url) == [origin.url("/good")])
      #expect(
        events.of("failed").first { $0.reason == "status" }?.status.map { [404, 418].contains($0) }
          == true)
      #expect(folder.files.filter { !$0.hasPrefix("taken") } == ["good"])

      let summary = try #require(events.last)
      #expect(summary.event == "summary")
      #expect([summary.done, summary.failed, summary.skipped] == [1, 14, 1])
      #expect(summary.bytes == 5)
      // Of each group the summary for people names every item too.
      for (reason, urls) in expected where reason != "duplicate" {
        #expect(ending.errors.contains("\(urls.count) failed: \(reason)\n"))
        for url in urls { #expect(ending.errors.contains(": \(url): ")) }
      }
    }

    @Test("A file that may not grow is one failed item, and not the end of the command")
    func fileSize() async throws {
      origin.on("/large", .ok([UInt8](repeating: 1, count: 100_000)))
      let ending = try await fetch(
        [], list: [origin.url("/large"), origin.url("/small")],
        through: ["prlimit", "--fsize=50000"])
      #expect(ending.status == 1)
      #expect(try ending.events.reasons == ["disk": [origin.url("/large")]])
      #expect(folder.files == ["small"])
    }

    @Test("The first line is the run, the last the summary, and nothing else is on standard output")
    func events() async throws {
      origin.on("/b", .status(500))
      let ending = try await fetch(
        ["-n", "2", "--retries", "1"],
        list: ["a", "b", "c", "bad", "a"].map { $0 == "bad" ? $0 : origin.url("/\($0)") })
      let events = try ending.events
      #expect(events.first?.event == "run")
      #expect(events.first?.schema == 1)
      #expect(events.first?.limit == 2)
      #expect(events.first?.output == folder.path)
      #expect(
        events.dropFirst().dropLast().allSatisfy {
          ["started", "retry", "done", "failed", "skipped"].contains($0.event)
        })
      #expect(events.last?.event == "summary")
      #expect(events.last?.peakInFlight == 2)
      #expect(events.endedIDs == Array(1...5))
      for ended in events.filter(\.isEnding)
      where ended.attempts != 0 && ended.reason != "duplicate" {
        let started = try #require(events.firstIndex { $0.event == "started" && $0.id == ended.id })
        let end = try #require(events.firstIndex { $0.isEnding && $0.id == ended.id })
        #expect(started < end)
        #expect(events[started].attempt == 1)
      }
    }

    @Test("When an item is told to be done, its file is there")
    func doneMeansThere() async throws {
      let wire = try Wire.output()
      let list = (1...50).map { origin.url("/\($0)") }.joined(separator: "\n")
      let run = try CommandRun(
        ["fetch", "-o", folder.path, "--events", "-"], input: .text(list), output: .wire(wire))
      var unread: [UInt8] = []
      var seen = 0
      while case let bytes = await wire.readSome(), !bytes.isEmpty {
        unread += bytes
        while let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
          let event = try LoggedEvent.read(String(decoding: unread[...end], as: UTF8.self))[0]
          unread.removeSubrange(...end)
          if event.event == "done" {
            #expect(folder[try #require(event.file)] == Array("hello".utf8))
            seen += 1
          }
        }
      }
      #expect(seen == 50)
      #expect(await run.ending.status == 0)
    }

    @Test("A password goes to the origin and nowhere else")
    func passwords() async throws {
      origin.on("/bad", .status(404))
      origin.on("/away", .redirect(to: "http://you:secret@127.0.0.1:\(origin.port)/bad"))
      func address(_ path: String) -> String { "http://me:secret@127.0.0.1:\(origin.port)/\(path)" }
      let list = [
        address("good"), address("bad"), address("away"), "http://me:secret@no-such-host.invalid/a",
        "http://me:secret@host:x/", "ftp://me:secret@host/a", "me:secret@host", address("good"),
      ]
      let log = "\(try TemporaryFolder().path).events"
      defer { try? FileManager.default.removeItem(atPath: log) }
      let ending = try await CommandRun.ending(
        ["fetch", "-o", folder.path, "--events", log], input: .text(list.joined(separator: "\n")))
      let events = try String(contentsOfFile: log, encoding: .utf8)
      #expect(ending.status == 1)
      #expect(try LoggedEvent.read(events).endedIDs == Array(1...8))
      #expect(!(ending.output + ending.errors + events).contains("secret"))
      let authorized = origin.record.requests.filter { $0.head.contains("Authorization: Basic") }
      #expect(authorized.map(\.path).contains("/good"))
      #expect(folder.files == ["good"])
    }

    @Test("What a terminal would obey reaches none")
    func escapes() async throws {
      origin.on("/e%1B%5B31m", .status(404))
      let list = [
        origin.url("/a\u{1b}[31m.txt"), origin.url("/b%1b%5b31m.txt"),
        origin.url("/c\u{202E}gpj.exe"),
        "\u{1b}]0;title\u{7}", "http://ho\u{1b}[st/", "http://ho\u{202E}st/",
        origin.url("/e%1B%5B31m"),
        origin.url("/d\u{9b}31m"),
      ]
      let run = try CommandRun(
        ["fetch", "-o", folder.path, "--events", "-", "--progress", "never"],
        input: .text(list.joined(separator: "\n")))
      let ending = await run.ending
      #expect(ending.status == 1)
      let shown = ending.output + ending.errors + folder.files.joined()
      for scalar in ["\u{1b}", "\u{7}", "\u{202E}", "\u{9b}"] as [Unicode.Scalar] {
        #expect(!shown.unicodeScalars.contains(scalar))
      }
      #expect(try ending.events.endedIDs == Array(1...8))
    }

    @Test("Equal wishes for a name get two files, the earlier item the plain one, in every run")
    func names() async throws {
      let second = try MisbehavingOrigin()
      second.onEverythingElse(.ok("another"))
      let list = [origin.url("/a.txt"), second.url("/a.txt"), second.url("/a.txt?b")]
      let first = try await fetch(["-n", "3"], list: list)
      #expect(first.status == 0)
      let names = folder.files
      #expect(names.count == 3)
      #expect(folder["a.txt"] == Array("hello".utf8))
      let again = try await fetch(["-n", "1"], list: list)
      #expect(again.status == 0)
      #expect(folder.files == names)
      #expect(
        try again.events.of("skipped").map(\.reason) == Array(repeating: "already-done", count: 3))
      let files = try again.events.of("skipped").map(\.file)
      #expect(
        try first.events.of("done").sorted { ($0.id ?? 0) < ($1.id ?? 0) }.map(\.file) == files)
    }

    @Test("A name longer than the file system takes is shortened")
    func longNames() async throws {
      let letters = String(repeating: "x", count: 300)
      let ending = try await fetch(
        [], list: [origin.url("/\(letters).png"), origin.url("/\(letters)y.png")])
      #expect(ending.status == 0)
      #expect(folder.files.count == 2)
      #expect(folder.files.allSatisfy { $0.utf8.count == 255 && $0.hasSuffix(".png") })
    }

    @Test("Two runs at once into one folder do not harm each other's files")
    func twoAtOnce() async throws {
      let list = (1...100).map { origin.url("/\($0)") }
      async let one = fetch(["--no-journal"], list: list)
      async let other = fetch(["--no-journal"], list: list)
      let endings = try await [one, other]
      #expect(endings.map(\.status) == [0, 0])
      // Each of the two may have been too late to recognise what the other had just brought.
      let plain = Set((1...100).map(String.init))
      #expect(Set(folder.files).isSuperset(of: plain))
      for name in folder.files { #expect(folder[name] == Array("hello".utf8)) }
      for ending in endings { #expect(try ending.events.endedIDs == Array(1...100)) }
    }

    /// Takes every name that an address can get.
    private func take(_ url: String) throws {
      let address = try WebAddress(url)
      let name = FileName(for: address)
      for name in [name, name.alternative(for: address)] {
        try FileManager.default.createDirectory(
          atPath: "\(folder.path)/\(name)", withIntermediateDirectories: false)
      }
    }

    private func fetch(
      _ arguments: [String], list: [String], through wrapper: [String] = []
    ) async throws -> CommandRun.Ending {
      try await CommandRun.ending(
        ["fetch", "-o", folder.path, "--events", "-"] + arguments,
        input: .text(list.joined(separator: "\n")), through: wrapper)
    }
  }
}
