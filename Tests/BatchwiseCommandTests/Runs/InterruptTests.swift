// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import TestSupport
import Testing

extension CommandRuns {
  @Suite("Interrupting a run")
  struct InterruptTests {
    private let folder: TemporaryFolder
    private let origin: MisbehavingOrigin
    private let gate = MisbehavingOrigin.Gate()

    init() throws {
      folder = try TemporaryFolder()
      origin = try MisbehavingOrigin()
      origin.onEverythingElse(.held(at: gate, then: .ok("hello")))
    }

    @Test(
      "What finishes within the grace is done",
      arguments: [(SIGINT, Int32(130)), (SIGTERM, Int32(143))])
    func finishes(signal: Int32, status: Int32) async throws {
      // The list stays open, so nothing but the signal ends the run.
      let pipe = try Wire.input()
      let run = try start(["-n", "3"], input: .wire(pipe))
      pipe.write((1...3).map { "\(origin.url("/\($0)"))\n" }.joined())
      await gate.arrivals(3)
      run.send(signal)
      try await run.waitUntilTaken(signal)
      gate.open()
      let ending = await run.ending
      #expect(ending.status == status)
      #expect(folder.files == ["1", "2", "3"])
      let events = try ending.events
      #expect(events.of("done").compactMap(\.file).sorted() == ["1", "2", "3"])
      #expect(events.last?.event == "summary")
      #expect(events.last?.done == 3)
      #expect(ending.errors.contains("3 done: "))
    }

    @Test(
      "What stalls is given up after the grace: nothing else was started, nothing is left behind")
    func stalls() async throws {
      origin.onEverythingElse(.stalled(.inBody, at: gate))
      let run = try start(["-n", "2"], input: .text(addresses(5)))
      await gate.arrivals(2)
      run.send(SIGINT)
      let ending = await run.ending
      #expect(ending.status == 130)
      #expect(origin.record.requests.count == 2)
      #expect(folder.files.isEmpty)
      let events = try ending.events
      #expect(events.map(\.event) == ["run", "started", "started", "summary"])
      #expect([events.last?.done, events.last?.failed, events.last?.skipped] == [0, 0, 0])
    }

    @Test("A second signal ends it at once, without a further word")
    func second() async throws {
      let run = try start(["-n", "2"], input: .text(addresses(5)))
      await gate.arrivals(2)
      await run.wait(for: #""event":"started""#, times: 2)
      run.send(SIGINT)
      try await run.waitUntilTaken(SIGINT)
      run.send(SIGINT)
      let ending = await run.ending
      #expect(ending.status == 130)
      #expect(try ending.events.map(\.event) == ["run", "started", "started"])
      #expect(ending.errors.isEmpty)
      #expect(folder.files.isEmpty)
    }

    @Test(
      "No signal is lost, whenever it comes",
      arguments: [(SIGINT, Int32(130)), (SIGTERM, Int32(143))])
    func neverLost(signal: Int32, status: Int32) async throws {
      // Dispatch's signal sources lost one in six.
      for _ in 1...10 {
        let run = try start([], input: .wire(Wire.input()))
        await run.wait(for: #""event":"run""#)
        run.send(signal)
        let ending = await run.ending
        #expect(ending.status == status)
        #expect(try ending.events.map(\.event) == ["run", "summary"])
      }
    }

    @Test("A list that nobody writes does not keep it from ending")
    func waitsForPipe() async throws {
      let path = "\(folder.path)/pipe"
      #expect(mkfifo(path, 0o600) == 0)
      let run = try start(["-i", path], input: .nothing)
      // Opening the pipe waits for a writer.
      while try run.kernelStatus("State") != "S" { try await Task.sleep(for: .milliseconds(5)) }
      run.send(SIGTERM)
      let status = await run.ending.status
      #expect(status == 143 || status == -SIGTERM)
    }

    @Test(
      "A kill leaves no file that is not whole, and the next run brings the rest", arguments: [1])
    func killed(seed: UInt64) async throws {
      let nginx = try Nginx(directives: "limit_rate 200k;")
      let files = (1...60).map { number in
        (name: "\(number).bin", bytes: [UInt8](repeating: UInt8(number), count: number * 999))
      }
      for file in files { try nginx.put(file.bytes, at: file.name) }
      let list = files.map { nginx.url(of: $0.name) }.joined(separator: "\n")
      var generator = SeededGenerator(seed: seed)

      for _ in 1...3 {
        let run = try start(["-n", "8"], input: .text(list))
        await run.wait(for: #""event":"started""#, times: Int.random(in: 1...60, using: &generator))
        run.send(SIGKILL)
        _ = await run.ending
        try check(files, areWholeIn: folder.files)
      }
      let last = try await start(["-n", "8"], input: .text(list)).ending
      #expect(last.status == 0)
      #expect(folder.files == files.map(\.name).sorted())
      try check(files, areWholeIn: folder.files)
    }

    private func check(_ files: [(name: String, bytes: [UInt8])], areWholeIn names: [String]) throws
    {
      for name in names where name != ".batchwise" {
        let file = try #require(files.first { $0.name == name }, "\(name) is no file of the list")
        #expect(folder[name] == file.bytes, "\(name) is not whole")
      }
    }

    private func addresses(_ count: Int) -> String {
      (1...count).map { origin.url("/\($0)") }.joined(separator: "\n")
    }

    private func start(_ arguments: [String], input: CommandRun.Stream) throws -> CommandRun {
      try CommandRun(["fetch", "-o", folder.path, "--events", "-"] + arguments, input: input)
    }
  }
}
