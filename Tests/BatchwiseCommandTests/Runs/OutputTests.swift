// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import TestSupport
import Testing

extension CommandRuns {
  @Suite("Where a run writes to")
  struct OutputTests {
    private let folder: TemporaryFolder
    private let origin: MisbehavingOrigin
    private let gate = MisbehavingOrigin.Gate()

    init() throws {
      folder = try TemporaryFolder()
      origin = try MisbehavingOrigin()
      origin.onEverythingElse(.ok("hello"))
    }

    // MARK: - Readers that go, and files that are full

    @Test("A reader that goes ends the run as an interrupt would")
    func readerGoes() async throws {
      origin.onEverythingElse(.held(at: gate, then: .ok("hello")))
      let output = try Wire.output()
      let run = try CommandRun(
        ["fetch", "-n", "2", "-o", folder.path, "--events", "-"],
        input: .text(addresses(100)), output: .wire(output))
      await gate.arrivals(2)
      output.close()
      gate.open()
      let ending = await run.ending
      #expect(ending.status == 130)
      #expect(origin.record.requests.count < 100)
      #expect(!ending.errors.contains("batchwise:"))
    }

    @Test("It is noticed also while nothing happens")
    func readerGoesInSilence() async throws {
      let output = try Wire.output()
      let run = try CommandRun(
        ["fetch", "-o", folder.path, "--events", "-"], input: .wire(.input()), output: .wire(output)
      )
      #expect(!(await output.readSome()).isEmpty)
      output.close()
      #expect(await run.ending.status == 130)
    }

    @Test("Transfers that stall do not keep a run going that nobody listens to")
    func readerGoesFromStalledRun() async throws {
      origin.onEverythingElse(.stalled(.inBody, at: gate))
      let output = try Wire.output()
      let run = try CommandRun(
        ["fetch", "-o", folder.path, "--events", "-"], input: .text(addresses(3)),
        output: .wire(output))
      await gate.arrivals(3)
      output.close()
      #expect(await run.ending.status == 130)
      #expect(folder.files.isEmpty)
    }

    @Test("An events file that cannot be written ends the run before it begins")
    func fullEvents() async throws {
      let ending = try await CommandRun.ending(
        ["fetch", "-o", folder.path, "--events", "/dev/full"], input: .text(addresses(100)))
      #expect(ending.status == 74)
      #expect(
        ending.errors.hasSuffix(
          "batchwise: --events /dev/full: cannot be written: No space left on device\n"))
      #expect(origin.record.requests.isEmpty)
    }

    @Test("A slow reader of events holds starts back and loses nothing")
    func slowReader() async throws {
      let output = try Wire.output()
      let input = try Wire.input()
      let run = try CommandRun(
        ["fetch", "-o", folder.path, "--events", "-"], input: .wire(input), output: .wire(output),
        errors: .nothing)
      let lines = 30_000
      let address = origin.url("/a")
      Thread.detachNewThread {
        for number in 1...lines { input.write("ftp://host/with/a/rather/long/path/\(number)\n") }
        input.write(address)
        input.close()
      }
      // With both pipes full nothing moves any more, and the good address is still in the list.
      while output.unread < 60_000 || input.unread < 60_000 {
        try await Task.sleep(for: .milliseconds(5))
      }
      #expect(origin.record.requests.isEmpty)
      let text = String(decoding: await output.readToEnd(), as: UTF8.self)
      #expect(await run.ending.status == 1)
      let events = try LoggedEvent.read(text)
      #expect(events.endedIDs == Array(1...lines + 1))
      #expect(events.of("done").map(\.line) == [lines + 1])
      #expect(events.last?.event == "summary")
    }

    @Test("An events file is emptied first, and has every line")
    func eventsFile() async throws {
      let path = "\(folder.path)/log.ndjson"
      try folder.write(Array(String(repeating: "old\n", count: 10_000).utf8), to: "log.ndjson")
      let ending = try await CommandRun.ending(
        ["fetch", "-o", "\(folder.path)/o", "--events", path], input: .text(addresses(3)))
      #expect(ending.status == 0)
      #expect(ending.output.isEmpty)
      let events = try LoggedEvent.read(String(contentsOfFile: path, encoding: .utf8))
      #expect(events.endedIDs == [1, 2, 3])
    }

    // MARK: - Closed descriptors

    @Test(
      "What is said never ends up in a file or a connection, whichever descriptors were closed",
      arguments: 0..<8)
    func closedDescriptors(which: Int) async throws {
      let run = try CommandRun(
        ["fetch", "-n", "3", "-o", folder.path, "--progress", "always"]
          + (1...20).map { origin.url("/\($0)") },
        input: which & 1 == 0 ? .nothing : .closed, output: which & 2 == 0 ? .captured : .closed,
        errors: which & 4 == 0 ? .captured : .closed)
      #expect(await run.ending.status == 0)
      #expect(folder.files.count == 20)
      for name in folder.files { #expect(folder[name] == Array("hello".utf8)) }
      #expect(origin.record.requests.allSatisfy { $0.head.hasPrefix("GET /") })
    }

    @Test("Events for a closed standard output are an error that is told, and nothing is begun")
    func closedOutput() async throws {
      let run = try CommandRun(
        ["fetch", "-o", folder.path, "--events", "-", origin.url("/a")], output: .closed)
      let ending = await run.ending
      #expect(ending.status == 74)
      #expect(
        ending.errors.hasSuffix("batchwise: --events -: cannot be written: Bad file descriptor\n"))
      #expect(origin.record.requests.isEmpty)
    }

    // MARK: - The display

    @Test(
      "A bar on a terminal, never wider than it, and gone in the end", arguments: [20, 40, 80, 200])
    func terminal(columns: UInt16) async throws {
      let ending = try await drawn(columns: columns, environment: ["TERM": "xterm"])
      #expect(ending.status == 0)
      let parts = ending.errors.components(separatedBy: "\r\u{1b}[J")
      #expect(parts.count > 2)
      #expect(parts[0].isEmpty)
      for line in parts.dropFirst().dropLast() {
        #expect(line.count < columns)
        #expect(!line.contains("\n") && !line.contains("\u{1b}"))
      }
      #expect(parts.last?.hasPrefix("3 done: 15 B in ") == true)
    }

    @Test(
      "No bar where it would do harm",
      arguments: [
        (["TERM": "dumb"], []), (["TERM": ""], []), (["TERM": "xterm"], ["--progress", "never"]),
        (["TERM": "xterm"], ["-q"]),
      ])
    func noBar(environment: [String: String], arguments: [String]) async throws {
      let ending = try await drawn(columns: 80, environment: environment, arguments)
      #expect(ending.status == 0)
      #expect(!ending.errors.contains("\u{1b}"))
      #expect(!ending.errors.replacing("\r\n", with: "\n").contains("\r"))
      if arguments == ["-q"] { #expect(ending.errors.isEmpty) }
    }

    @Test("On a pipe there is no bar unless it is asked for")
    func pipe() async throws {
      let plain = try await CommandRun.ending(["fetch", "-o", folder.path, origin.url("/a")])
      #expect(plain.errors.contains("1 done: 5 B in "))
      #expect(!plain.errors.contains("\u{1b}") && !plain.errors.contains("\r"))
    }

    @Test("A reader of standard error that goes does not matter")
    func errorsReaderGoes() async throws {
      let errors = try Wire.output()
      origin.onEverythingElse(.held(at: gate, then: .ok("hello")))
      let run = try CommandRun(
        ["fetch", "-o", folder.path, "--progress", "always"] + (1...9).map { origin.url("/\($0)") },
        errors: .wire(errors))
      await gate.arrivals(6)
      errors.close()
      gate.open()
      #expect(await run.ending.status == 0)
      #expect(folder.files.count == 9)
    }

    @Test("Quiet means silence, unless something failed")
    func quiet() async throws {
      let good = try await CommandRun.ending(["fetch", "-q", "-o", folder.path, origin.url("/a")])
      #expect(good.output.isEmpty && good.errors.isEmpty)
      origin.on("/b", .status(404))
      let bad = try await CommandRun.ending(["fetch", "-q", "-o", folder.path, origin.url("/b")])
      #expect(bad.output.isEmpty)
      #expect(
        bad.errors
          == "1 failed: status\n  \(origin.url("/b")): The server answered with status 404\n")
      #expect(bad.status == 1)
    }

    /// A run with its display on a terminal, held until it has drawn its line three times.
    private func drawn(
      columns: UInt16, environment: [String: String], _ arguments: [String] = []
    ) async throws -> CommandRun.Ending {
      origin.onEverythingElse(.held(at: gate, then: .ok("hello")))
      let run = try CommandRun(
        ["fetch", "-o", folder.path] + arguments + (1...3).map { origin.url("/\($0)") },
        errors: .terminal(columns: columns), environment: environment)
      await gate.arrivals(3)
      if environment["TERM"] == "xterm", arguments.isEmpty {
        await run.errors.wait { $0.count { $0 == UInt8(ascii: "\r") } >= 3 }
      }
      gate.open()
      return await run.ending
    }

    private func addresses(_ count: Int) -> String {
      (1...count).map { origin.url("/\($0)") }.joined(separator: "\n")
    }
  }
}
