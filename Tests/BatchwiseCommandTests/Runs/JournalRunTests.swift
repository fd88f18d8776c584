// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import SQLiteJournal
import TestSupport
import Testing

extension CommandRuns {
  @Suite("What a run remembers for the next one")
  struct JournalRunTests {
    private let setting: RunSetting
    private var origin: MisbehavingOrigin { setting.origin }

    init() throws {
      setting = try RunSetting()
      origin.onEverythingElse(.ok("hello"))
    }

    // MARK: - Only the rest

    @Test("A second run asks for nothing, and names the files that are there")
    func again() async throws {
      let list = addresses(1...20)
      #expect(try await setting.fetch(list: list).status == 0)
      let again = try await setting.fetch(list: list)
      #expect(again.status == 0)
      #expect(origin.record.requests.count == 20)
      let skipped = try again.events.of("skipped")
      #expect(skipped.compactMap(\.reason) == Array(repeating: "already-done", count: 20))
      #expect(skipped.compactMap(\.file) == (1...20).map(String.init))
      #expect(try again.events.last?.skipped == 20)
      setting.expectOnly(hellos(1...20))
    }

    @Test("Of a list that has grown only what is new is fetched, in whichever order it stands")
    func grown() async throws {
      #expect(try await setting.fetch(list: addresses(1...30)).status == 0)
      let list = addresses(28...40) + addresses(1...27)
      let ending = try await setting.fetch(list: list)
      #expect(ending.status == 0)
      #expect(origin.record.requests.map(\.path).sorted() == (1...40).map { "/\($0)" }.sorted())
      #expect(
        try ending.events.of("done").compactMap(\.file).sorted() == (31...40).map(String.init))
      #expect(try ending.events.endedIDs == Array(1...40))
    }

    @Test("A file that is missing, or has another size, is fetched again to the same name")
    func missing() async throws {
      let list = addresses(1...5)
      #expect(try await setting.fetch(list: list).status == 0)
      try FileManager.default.removeItem(atPath: setting.output + "/2")
      try Data("hello there".utf8).write(to: URL(filePath: setting.output + "/3"))
      try Data().write(to: URL(filePath: setting.output + "/4"))
      let ending = try await setting.fetch(list: list)
      #expect(ending.status == 0)
      #expect(try ending.events.of("done").compactMap(\.file).sorted() == ["2", "3", "4"])
      #expect(try ending.events.of("skipped").compactMap(\.file) == ["1", "5"])
      setting.expectOnly(hellos(1...5))
    }

    @Test("Something else in a file's place is no file, and is not removed")
    func inTheWay() async throws {
      let list = addresses(1...3)
      #expect(try await setting.fetch(list: list).status == 0)
      try setting.folder.write(Array("hello".utf8), to: "precious")
      for name in ["1", "2"] {
        try FileManager.default.removeItem(atPath: setting.output + "/" + name)
      }
      try FileManager.default.createDirectory(
        atPath: setting.output + "/1", withIntermediateDirectories: false)
      try FileManager.default.createSymbolicLink(
        atPath: setting.output + "/2", withDestinationPath: "../precious")
      let ending = try await setting.fetch(list: list)
      #expect(try ending.events.endedIDs == [1, 2, 3])
      #expect(try ending.events.of("skipped").compactMap(\.file) == ["3"])
      #expect(setting.folder["precious"] == Array("hello".utf8))
      // Whatever became of the two: what is told to be done is there.
      for event in try ending.events.of("done") {
        setting.expect(Array("hello".utf8), as: try #require(event.file))
      }
    }

    @Test("A file that is not what the list says by now is fetched again")
    func contradicted() async throws {
      let path = setting.folder.path + "/list"
      func fetch(_ field: String, _ value: String) async throws -> LoggedEvent {
        let list = "url,\(field)\n\(origin.url("/1")),\(value)\n"
        try list.write(toFile: path, atomically: false, encoding: .utf8)
        let ending = try await setting.fetch(["-i", path])
        return try #require(try ending.events.first(where: \.isEnding))
      }
      let digest = try #require(try await fetch("size", "5").sha256)
      #expect(try await fetch("size", "5").reason == "already-done")
      #expect(try await fetch("sha256", digest).reason == "already-done")
      origin.on("/1", .ok("hello there"))
      let longer = try await fetch("size", "11")
      #expect(longer.file == "1")
      setting.expectOnly(["1": Array("hello there".utf8)])
      origin.on("/1", .ok("hello"))
      let checked = try await fetch("sha256", digest)
      #expect(checked.file == "1" && checked.proof == "checksum")
      setting.expectOnly(["1": Array("hello".utf8)])
      #expect(origin.record.requests.count == 3)
    }

    // MARK: - Earlier failures

    @Test("What has failed counts as failed again, with its old reason and no request")
    func failedBefore() async throws {
      origin.on("/2", .status(404))
      origin.on("/3", .redirect(to: "/3"))
      let list = addresses(1...4)
      let first = try await setting.fetch(list: list)
      #expect(first.status == 1)
      let count = origin.record.requests.count
      origin.onEverythingElse(.ok("another"))
      origin.on("/2", .ok("better"))
      let again = try await setting.fetch(list: list)
      #expect(again.status == 1)
      #expect(origin.record.requests.count == count)
      for reason in ["status", "redirect"] {
        let (old, new) = try (
          first.events.of("failed").first { $0.reason == reason },
          again.events.of("failed").first { $0.reason == reason }
        )
        #expect(old?.message == new?.message && old?.status == new?.status)
        #expect(old?.attempts == new?.attempts && old?.url == new?.url)
      }
      #expect(try again.events.last?.failed == 2)
      #expect(again.errors.contains("1 failed: status\n  line 2: \(origin.url("/2")): "))

      let retried = try await setting.fetch(["--retry-failed"], list: list)
      #expect(retried.status == 1)
      #expect(try retried.events.of("done").compactMap(\.file) == ["2"])
      #expect(origin.record.count(of: "/2") == 2)
      #expect(try await setting.fetch(list: list).status == 1)
      #expect(origin.record.count(of: "/2") == 2)
    }

    @Test("A bad line is a failure in every run, and is remembered in none")
    func badLine() async throws {
      for _ in 1...2 {
        let ending = try await setting.fetch(list: ["ftp://host/a", origin.url("/1")])
        #expect(ending.status == 1)
        #expect(try ending.events.of("failed").compactMap(\.line) == [1])
      }
      #expect(try await setting.fetch(list: [origin.url("/1")]).status == 0)
    }

    // MARK: - Forgetting and asking again

    @Test(
      "Afresh everything is fetched again, and replaces what was written before and nothing else")
    func fresh() async throws {
      origin.on("/2", .status(404))
      #expect(try await setting.fetch(list: addresses(1...4)).status == 1)
      try Data("mine".utf8).write(to: URL(filePath: setting.output + "/5"))
      origin.onEverythingElse(.ok("another"))
      origin.on("/2", .ok("another"))
      let ending = try await setting.fetch(["--fresh"], list: addresses(1...3) + addresses(5...5))
      #expect(ending.status == 0)
      let done = try ending.events.of("done")
      #expect(done.count == 4)
      for name in ["1", "2", "3"] { setting.expect(Array("another".utf8), as: name) }
      setting.expect(Array("hello".utf8), as: "4")
      setting.expect(Array("mine".utf8), as: "5")
      let fifth = try #require(done.first { $0.url == origin.url("/5") }?.file)
      #expect(setting.files == ["1", "2", "3", "4", "5", fifth].sorted())
      let again = try await setting.fetch(list: addresses(1...3) + addresses(5...5))
      #expect(try again.events.reasons.mapValues(\.count) == ["already-done": 4])
    }

    @Test("What is done is asked for on the condition that it has changed, and then replaced")
    func refresh() async throws {
      let (old, new) = (Array("old".utf8), Array("newer".utf8))
      origin.on("/same", .file(old, ["ETag: \"1\""]))
      origin.on("/dated", .file(old, ["Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT"]))
      origin.on("/changed", .file(old, ["ETag: W/\"1\""]))
      origin.on("/nameless", .ok(old))
      origin.on("/gone", .file(old, ["ETag: \"1\""]))
      let names = ["same", "dated", "changed", "nameless", "gone"]
      let list = names.map { origin.url("/\($0)") }
      #expect(try await setting.fetch(list: list).status == 0)
      origin.on("/changed", .file(new, ["ETag: W/\"2\""]))
      origin.on("/nameless", .ok(new))
      origin.on("/gone", .status(404))
      let ending = try await setting.fetch(["--refresh"], list: list)
      let events = try ending.events
      #expect(ending.status == 1)
      #expect(events.ending(of: list[0])?.reason == "unchanged")
      #expect(events.ending(of: list[1])?.reason == "unchanged")
      #expect(events.ending(of: list[2])?.file == "changed")
      #expect(events.ending(of: list[2])?.event == "done")
      // Nothing tells whether it has changed.
      #expect(events.ending(of: list[3])?.reason == "already-done")
      #expect(events.ending(of: list[4])?.event == "failed")
      #expect(origin.record.count(of: "/nameless") == 1)
      setting.expectOnly([
        "same": old, "dated": old, "changed": new, "nameless": old, "gone": old,
      ])
      let second = try await setting.fetch(["--refresh"], list: Array(list[...3]))
      #expect(second.status == 0)
      #expect(try second.events.reasons["unchanged"]?.count == 3)
    }

    @Test("A refreshed file that cannot be had does not cost the one that is there its name")
    func refreshFails() async throws {
      let list = [origin.url("/a")]
      origin.on("/a", .file(Array("old".utf8), ["ETag: \"1\""]))
      #expect(try await setting.fetch(list: list).status == 0)
      origin.on("/a", .status(500))
      #expect(try await setting.fetch(["--refresh", "--retries", "0"], list: list).status == 1)
      setting.expectOnly(["a": Array("old".utf8)])
      origin.on("/a", .file(Array("newer".utf8), ["ETag: \"2\""]))
      let ending = try await setting.fetch(["--refresh", "--retry-failed"], list: list)
      #expect(ending.status == 0)
      #expect(try ending.events.of("done").map(\.file) == ["a"])
      setting.expectOnly(["a": Array("newer".utf8)])
    }

    // MARK: - Where the journal is

    @Test("The journal can be elsewhere, and the folder then holds the files alone")
    func elsewhere() async throws {
      let journal = ["--journal", setting.folder.path + "/memory"]
      #expect(try await setting.fetch(journal, list: addresses(1...3)).status == 0)
      #expect(TemporaryFolder.names(in: setting.output) == ["1", "2", "3"])
      #expect(setting.folder.names == ["memory", "o"])
      let again = try await setting.fetch(journal, list: addresses(1...3))
      #expect(try again.events.reasons.mapValues(\.count) == ["already-done": 3])
      let status = try await CommandRun.ending(["status"] + journal)
      #expect(status.output.hasPrefix("3 done, 15 B\n"))
    }

    @Test("Without a journal nothing is remembered or left, and equal files are recognised")
    func without() async throws {
      let large = Array(repeating: UInt8(7), count: 3 << 20)
      origin.on("/large", .file(large, ["ETag: \"1\""]))
      let list = addresses(1...3) + [origin.url("/large")]
      for reasons in [[:], ["unchanged": 4]] {
        let ending = try await setting.fetch(["--no-journal"], list: list)
        #expect(ending.status == 0)
        #expect(try ending.events.reasons.mapValues(\.count) == reasons)
        #expect(TemporaryFolder.names(in: setting.output) == ["1", "2", "3", "large"])
      }
      #expect(origin.record.requests.count == 8)
      #expect(setting.folder.names == ["o"])
    }

    @Test("Without a journal no part is left of what did not come to its end")
    func withoutPart() async throws {
      let large = Array(repeating: UInt8(7), count: 3 << 20)
      origin.on("/large", .file(large, ["ETag: \"1\""], upTo: 2 << 20))
      let ending = try await setting.fetch(
        ["--no-journal", "--retries", "1"], list: [origin.url("/large")])
      #expect(ending.status == 1)
      #expect(origin.record.requests.compactMap(\.offset) == [2 << 20])
      #expect(TemporaryFolder.names(in: setting.output).isEmpty)
    }

    @Test(
      "What a killed run without a journal has left is removed by the next run",
      arguments: [true, false])
    func withoutKilled(hasJournal: Bool) async throws {
      let large = Array(repeating: UInt8(7), count: 3 << 20)
      let gate = MisbehavingOrigin.Gate()
      origin.on("/large", .file(large, ["ETag: \"1\""], upTo: 2 << 20, heldAt: gate))
      let run = try setting.start(["--no-journal"], list: [origin.url("/large")])
      try await setting.waitForPart(of: 2 << 20, in: run)
      await setting.kill(run)
      #expect(setting.partials.count == 1)
      origin.on("/large", .status(404))
      let options = hasJournal ? [] : ["--no-journal"]
      #expect(try await setting.fetch(options, list: [origin.url("/large")]).status == 1)
      #expect(setting.partials.isEmpty)
    }

    @Test("Without a journal a file that has changed gets another name, and nothing is replaced")
    func withoutChanged() async throws {
      for text in ["old", "newer", "newer"] {
        origin.on("/a.tar.gz", .ok(text))
        #expect(
          try await setting.fetch(["--no-journal"], list: [origin.url("/a.tar.gz")]).status == 0)
      }
      let names = setting.files
      #expect(names.count == 2)
      setting.expect(Array("old".utf8), as: "a.tar.gz")
      let other = try #require(names.first { $0 != "a.tar.gz" })
      #expect(other.hasPrefix("a-") && other.hasSuffix(".tar.gz"))
      setting.expect(Array("newer".utf8), as: other)
    }

    // MARK: - Who else may use it

    @Test("A second run into a folder is refused at once, and loses the first one nothing")
    func twoAtOnce() async throws {
      let gate = MisbehavingOrigin.Gate()
      origin.onEverythingElse(.held(at: gate, then: .ok("hello")))
      let first = try setting.start(list: addresses(1...5))
      await gate.arrivals(5)
      let second = try await setting.fetch(list: addresses(1...5))
      #expect(second.status == 73)
      #expect(second.output.isEmpty)
      #expect(
        second.errors
          == "batchwise: The journal \(setting.journal) is in use by another run (process "
          + "\(first.process)). Wait until that has ended, or give this one another folder or another "
          + "--journal.\n")
      gate.open()
      #expect(await first.ending.status == 0)
      #expect(origin.record.requests.count == 5)
      setting.expectOnly(hellos(1...5))
    }

    @Test("A run that was killed locks nobody out")
    func staleLock() async throws {
      let gate = MisbehavingOrigin.Gate()
      origin.onEverythingElse(.held(at: gate, then: .ok("hello")))
      let first = try setting.start(list: addresses(1...5))
      await gate.arrivals(5)
      await setting.kill(first)
      gate.open()
      #expect(try await setting.fetch(list: addresses(1...5)).status == 0)
      setting.expectOnly(hellos(1...5))
    }

    @Test("What is no journal is refused, named and left as it is")
    func foreign() async throws {
      try FileManager.default.createDirectory(
        atPath: setting.output + "/.batchwise", withIntermediateDirectories: true)
      let text = Array(
        "dear diary, today I wrote no database but more than a hundred bytes of text".utf8)
      try setting.folder.write(text + text, to: "o/.batchwise/journal.sqlite")
      for arguments in [[], ["--fresh"]] {
        let ending = try await setting.fetch(arguments, list: addresses(1...2))
        #expect(ending.status == 73)
        #expect(
          ending.errors.hasPrefix("batchwise: \(setting.journal) is no journal of this program"))
        #expect(ending.errors.contains("--journal"))
        #expect(setting[".batchwise/journal.sqlite"] == text + text)
      }
      #expect(origin.record.requests.isEmpty)
      let status = try await setting.status()
      #expect(status.status == 73)
      #expect(status.errors.contains("is no journal of this program"))
    }

    @Test("A damaged journal is refused with what to do, and afresh the run goes on")
    func torn() async throws {
      #expect(try await setting.fetch(list: addresses(1...200)).status == 0)
      let whole = try #require(setting[".batchwise/journal.sqlite"])
      try setting.folder.write(
        Array(whole[..<(whole.count / 2)]), to: "o/.batchwise/journal.sqlite")
      let refused = try await setting.fetch(list: addresses(1...3))
      #expect(refused.status == 73)
      #expect(refused.errors.contains("is damaged"))
      #expect(refused.errors.contains("--fresh"))
      #expect(origin.record.requests.count == 200)
      let fresh = try await setting.fetch(["--fresh"], list: addresses(1...3))
      #expect(fresh.status == 0)
      #expect(try fresh.events.endedIDs == [1, 2, 3])
      #expect(setting[".batchwise/journal.sqlite.unusable-1"] != nil)
    }

    // MARK: - Status

    @Test("The status tells what is done, what has failed and why, and what is left")
    func status() async throws {
      #expect(try await setting.status().status == 73)
      let gate = MisbehavingOrigin.Gate()
      origin.on("/2", .status(404))
      origin.on("/3", .status(410))
      origin.on("/4", .redirect(to: "/4"))
      origin.on("/5", .held(at: gate, then: .ok("hello")))
      let run = try setting.start(["-n", "1"], list: addresses(1...8))
      await gate.arrivals(1)
      try await setting.waitForJournal(run) { $0.failed == 3 }
      let during = try await setting.status()
      #expect(during.status == 0)
      #expect(during.output.contains("1 done, 5 B\n2 failed: status\n"))
      #expect(
        during.output.contains("  \(origin.url("/2")): The server answered with status 404\n"))
      #expect(during.output.contains("1 failed: redirect\n"))
      #expect(during.output.contains(", at most 1 in flight, and goes on\n"))
      run.send(SIGINT)
      try await run.waitUntilTaken(SIGINT)
      gate.open()
      #expect(await run.ending.status == 130)
      let after = try await setting.status()
      #expect(after.output.contains("2 done, 10 B\n"))
      #expect(after.output.contains("\n3 left to do\n"))
      #expect(after.output.contains(", and was stopped "))
      #expect(after.output.contains("--retry-failed"))
      #expect(try await setting.fetch(["--retry-failed"], list: addresses(1...8)).status == 1)
      #expect(try await setting.status().output.contains("5 done, 25 B\n"))
    }

    @Test("A folder that no run has written into has no status")
    func noStatus() async throws {
      let ending = try await CommandRun.ending(["status", setting.folder.path])
      #expect(ending.status == 73)
      #expect(ending.errors.contains("there is no journal"))
      #expect(setting.folder.names.isEmpty)
    }

    // MARK: -

    private func addresses(_ numbers: ClosedRange<Int>) -> [String] {
      numbers.map { origin.url("/\($0)") }
    }

    private func hellos(_ numbers: ClosedRange<Int>) -> [String: [UInt8]] {
      Dictionary(uniqueKeysWithValues: numbers.map { (String($0), Array("hello".utf8)) })
    }
  }
}
