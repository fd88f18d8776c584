// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import Glibc
import TestSupport
import Testing

extension CommandRuns {
  @Suite("A run with a page that nobody looks at")
  struct ServeRunTests {
    private let setting: RunSetting
    private var origin: MisbehavingOrigin { setting.origin }

    init() throws { setting = try RunSetting() }

    private func start(
      _ arguments: [String], list: [String] = [], input: CommandRun.Stream = .nothing
    ) throws -> CommandRun {
      try CommandRun(
        ["serve", "-o", setting.output, "--events", "-"] + arguments + list, input: input)
    }

    private func urls(_ count: Int) -> [String] { (1...count).map { origin.url("/\($0)") } }

    private func unfinished(_ path: String) throws -> [String] {
      try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { line in
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        return object?["url"] as? String ?? ""
      }
    }

    @Test("It goes on until it is interrupted, which is no interrupt if everything is done")
    func done() async throws {
      origin.onEverythingElse(.ok("hello"))
      let path = setting.folder.path + "/rest"
      let run = try start(["--start", "--unfinished", path], list: urls(3))
      await run.wait(for: #""event":"done""#, times: 3)
      run.send(SIGINT)
      let ending = await run.ending
      #expect(ending.status == 0)
      #expect(try ending.events.last?.done == 3)
      #expect(try unfinished(path) == [])
      setting.expectOnly([
        "1": Array("hello".utf8), "2": Array("hello".utf8), "3": Array("hello".utf8),
      ])
      // The address is no event, and holds the token: it is told the person alone.
      #expect(!ending.output.contains("The page"))
      #expect(ending.errors.contains("The page, for a browser of this machine: http://127.0.0.1:"))
    }

    @Test("A list that comes through a pipe grows while it runs")
    func grows() async throws {
      origin.onEverythingElse(.ok("hello"))
      let pipe = try Wire.input()
      let run = try start(["--start"], input: .wire(pipe))
      for number in 1...3 {
        pipe.write("\(origin.url("/\(number)"))\n")
        await run.wait(for: #""event":"done""#, times: number)
      }
      // More might have come, so not everything is done.
      run.send(SIGTERM)
      #expect(await run.ending.status == 143)
    }

    @Test("What nobody has started is left, all of it, and the next run does it")
    func notStarted() async throws {
      origin.onEverythingElse(.ok("hello"))
      let path = setting.folder.path + "/rest"
      let run = try start(["--unfinished", path], list: urls(3))
      await run.wait(for: #""event":"run""#)
      run.send(SIGINT)
      let ending = await run.ending
      #expect(ending.status == 130)
      #expect(origin.record.requests.isEmpty)
      #expect(try unfinished(path) == urls(3))
      #expect(try await setting.fetch(["-i", path]).status == 0)
      #expect(setting.files == ["1", "2", "3"])
    }

    @Test("What is left has the name that its place gives it, and what is no address is not listed")
    func names() async throws {
      origin.onEverythingElse(.ok("hello"))
      origin.on("/2", .status(404))
      let path = setting.folder.path + "/rest"
      let run = try start(
        ["--start", "--names", "index", "--unfinished", path],
        list: [origin.url("/1"), "ftp://h/", origin.url("/2"), origin.url("/3")])
      await run.wait(for: #""event":"done""#, times: 2)
      await run.wait(for: #""event":"failed""#, times: 2)
      run.send(SIGINT)
      #expect(await run.ending.status == 1)
      #expect(setting.files == ["00000001", "00000004"])
      #expect(try unfinished(path) == [origin.url("/2")])
      #expect(try String(contentsOfFile: path, encoding: .utf8).contains(#""name":"00000003""#))
    }

    @Test("What is in flight at an interrupt has its grace, and what waits is left")
    func interrupted() async throws {
      let gate = MisbehavingOrigin.Gate()
      origin.onEverythingElse(.held(at: gate, then: .ok("hello")))
      let path = setting.folder.path + "/rest"
      let run = try start(["--start", "-n", "1", "--unfinished", path], list: urls(3))
      await gate.arrivals(1)
      run.send(SIGINT)
      try await run.waitUntilTaken(SIGINT)
      gate.open()
      let ending = await run.ending
      #expect(ending.status == 130)
      #expect(origin.record.requests.count == 1)
      #expect(try ending.events.last?.done == 1)
      #expect(try unfinished(path) == Array(urls(3).dropFirst()))
    }

    @Test("A list that cannot be understood ends it, as it ends every run")
    func badList() async throws {
      let run = try start(["--start", "--format", "csv"], input: .text("name,size\n"))
      let ending = await run.ending
      #expect(ending.status == 64)
      #expect(ending.errors.contains("--input -: "))
    }

    @Test("A port that is taken is told before anything is asked for")
    func taken() async throws {
      let listener = try LoopbackListener()
      let run = try start(["--start", "--port", "\(listener.port)"], list: urls(1))
      let ending = await run.ending
      #expect(ending.status == 64)
      #expect(ending.errors == "batchwise: --port \(listener.port): Address already in use\n")
      #expect(origin.record.requests.isEmpty)
    }
  }
}
