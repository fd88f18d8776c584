// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import SQLiteJournal
import TestSupport
import Testing

extension CommandRuns {
  @Suite("Trouble on the way")
  struct TroubleRunTests {
    private let setting: RunSetting
    private let gate = MisbehavingOrigin.Gate()
    private var origin: MisbehavingOrigin { setting.origin }

    init() throws {
      setting = try RunSetting()
      origin.onEverythingElse(.ok("hello"))
    }

    @Test(
      "A full disk ends the run with what is done safe, and with more room the rest comes",
      .enabled(if: SmallDisk.isAllowed), arguments: [[], ["--journal", "FOLDER/memory"]])
    func fullDisk(arguments: [String]) async throws {
      var generator = SeededGenerator(seed: 8)
      var files: [String: [UInt8]] = [:]
      for number in 1...30 { files["\(number)"] = generator.bytes(40_000) }
      for (name, bytes) in files { origin.on("/" + name, .ok(bytes)) }
      let list = setting.folder.path + "/list"
      try (1...30).map { origin.url("/\($0)") + "\n" }.joined()
        .write(toFile: list, atomically: false, encoding: .utf8)
      // The first run finds room for a part of the files, the second one for all.
      let script = """
        mkdir o && mount -t tmpfs -o size=600k none o || exit 99
        "$0" "$@" >first 2>errors; echo $? >status
        rm -rf copy; cp -r o copy
        mount -o remount,size=50M o
        "$0" "$@" >second; echo $? >>status
        rm -rf o2; cp -r o o2; umount o; rmdir o; mv o2 o
        """
      let run = try CommandRun(
        ["fetch", "-o", "o", "-n", "3", "--events", "-", "-i", list]
          + arguments.map { $0.replacing("FOLDER", with: setting.folder.path) },
        through: [
          "unshare", "--mount", "env", "-C", setting.folder.path, "sh", "-c", script,
        ])
      _ = await run.ending
      func text(_ name: String) -> String {
        String(decoding: setting.folder[name] ?? [], as: UTF8.self)
      }
      #expect(text("status") == "74\n0\n")
      #expect(text("errors").contains("Make room and run it again."))
      let first = try LoggedEvent.read(text("first"))
      let done = first.of("done").compactMap(\.file)
      #expect(!done.isEmpty && done.count < 30)
      #expect(first.of("failed").isEmpty)
      #expect(first.last?.event == "summary")
      let kept = TemporaryFolder.names(in: setting.folder.path + "/copy").filter {
        $0 != ".batchwise"
      }
      #expect(Set(kept).isSuperset(of: done))
      for name in kept { #expect(setting.folder["copy/" + name]?.count == 40_000) }
      let second = try LoggedEvent.read(text("second"))
      #expect(second.of("skipped").count + second.of("done").count == 30)
      #expect(Set(second.of("skipped").compactMap(\.file)).isSuperset(of: done))
      #expect(second.endedIDs == Array(1...30))
      for name in done { #expect(origin.record.count(of: "/" + name) == 1) }
      setting.expectOnly(files)
    }

    @Test(
      "Where hardly any file may be open no item fails, whatever the limit", arguments: [40, 30])
    func openFiles(count: Int) async throws {
      let list = (1...100).map { origin.url("/\($0)") }
      let ending = try await setting.fetch(
        ["-n", "50", "--per-host", "50"], list: list,
        through: ["prlimit", "--nofile=\(count):\(count)"])
      #expect(ending.status == 0)
      #expect(try ending.events.of("done").count == 100)
      #expect(setting.files.count == 100)
    }

    @Test("An interrupt keeps the part of a long file, and the next run goes on with it")
    func interrupted() async throws {
      var generator = SeededGenerator(seed: 9)
      let bytes = generator.bytes(2_000_000)
      origin.on("/a", .file(bytes, ["ETag: \"1\""], upTo: 1_500_000, heldAt: gate))
      let unfinished = setting.folder.path + "/unfinished"
      let run = try setting.start(["--unfinished", unfinished], list: [origin.url("/a")])
      try await setting.waitForJournal(run) { $0.partial == 1 }
      try await setting.waitForPart(of: 1_500_000, in: run)
      run.send(SIGTERM)
      let ending = await run.ending
      #expect(ending.status == 143)
      #expect(try ending.events.map(\.event) == ["run", "started", "summary"])
      #expect(setting.partialSize == 1_500_000)
      #expect(
        try await setting.status().output.contains("1 left to do, of which a part is there\n"))
      origin.on("/a", .file(bytes, ["ETag: \"1\""]))
      #expect(try await setting.fetch(["-i", unfinished]).status == 0)
      #expect(origin.record.requests.compactMap(\.offset) == [1_500_000])
      setting.expectOnly(["a": bytes])
    }

    @Test("The time of the whole run ends it like an interrupt, but as a failure")
    func maxTime() async throws {
      origin.on("/1", .ok("hello"))
      origin.onEverythingElse(.held(at: gate, then: .ok("late")))
      let list = (1...6).map { origin.url("/\($0)") }
      let unfinished = setting.folder.path + "/unfinished"
      let ending = try await setting.fetch(
        ["-n", "2", "--max-time", "300ms", "--unfinished", unfinished], list: list)
      #expect(ending.status == 1)
      let events = try ending.events
      #expect(events.of("failed").isEmpty && events.of("done").count <= 1)
      #expect(events.last?.event == "summary")
      let left = try String(contentsOfFile: unfinished, encoding: .utf8)
      #expect(left.split(separator: "\n").count == 6 - events.of("done").count)
      gate.open()
      origin.onEverythingElse(.ok("hello"))
      #expect(try await setting.fetch(list: list).status == 0)
      #expect(setting.files.count == 6)
    }

    @Test("While it only waits it costs next to no processor time")
    func idle() async throws {
      // For a host that asks to be left alone, for a silent server, and for a list.
      origin.on("/1", .inTurn([.answer(503, fields: ["Retry-After: 3"]), .ok("hello")]))
      let silent = try MisbehavingOrigin()
      silent.onEverythingElse(.stalled(.inBody, at: gate))
      let pipe = try Wire.input()
      let run = try CommandRun(
        ["fetch", "-o", setting.output, "--events", "-"], input: .wire(pipe))
      pipe.write("\(origin.url("/1"))\n\(silent.url("/2"))\n")
      await run.wait(for: #""event":"done""#)
      gate.open()
      pipe.close()
      let ending = await run.ending
      #expect(ending.status == 0)
      #expect(try #require(try ending.events.of("retry").first?.delay) >= 3)
      #expect(ending.processorTime < .milliseconds(300))
    }

    @Test("A journal that can be written no more ends the run, and what is done is safe")
    func journalFull() async throws {
      // Nothing of it may grow beyond what the first files of a run need.
      let list = (1...1500).map { origin.url("/\($0)") }
      let ending = try await setting.fetch(
        list: list, through: ["prlimit", "--fsize=200000"])
      #expect(ending.status == 74)
      let done = try ending.events.of("done").compactMap(\.file)
      #expect(done.count < 1500)
      for name in done { setting.expect(Array("hello".utf8), as: name) }
      #expect(Set(setting.files).isSuperset(of: done))
      let again = try await setting.fetch(list: list)
      #expect(again.status == 0)
      #expect(Set(try again.events.of("skipped").compactMap(\.file)).isSuperset(of: done))
      #expect(setting.files.count == 1500)
    }

    @Test("A reader that goes leaves what a further run can go on with")
    func readerGoes() async throws {
      origin.onEverythingElse(.held(at: gate, then: .ok("hello")))
      let output = try Wire.output()
      let list = (1...300).map { origin.url("/\($0)") }
      let run = try CommandRun(
        ["fetch", "-n", "2", "-o", setting.output, "--events", "-"],
        input: .text(list.joined(separator: "\n")), output: .wire(output))
      await gate.arrivals(2)
      output.close()
      gate.open()
      #expect(await run.ending.status == 130)
      let count = origin.record.requests.count
      #expect(count < 300)
      let again = try await setting.fetch(list: list)
      #expect(again.status == 0)
      #expect(try again.events.endedIDs == Array(1...300))
      // A request that was under way when the run ended may have been made in vain.
      #expect(origin.record.requests.count <= 302)
      setting.expectOnly(
        Dictionary(uniqueKeysWithValues: (1...300).map { ("\($0)", Array("hello".utf8)) }))
    }
  }
}
