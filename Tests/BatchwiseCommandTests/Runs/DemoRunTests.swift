// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import BatchwiseCommand

@Suite("The demo", .serialized, .timeLimit(.minutes(1)))
struct DemoRunTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test("Twenty pictures arrive, at most three at once, and it says so in plain text")
  func plain() async throws {
    let ending = try await CommandRun.ending(
      ["demo"], environment: ["TMPDIR": folder.path])
    #expect(ending.status == 0)
    let output = try #require(folder.files.first)
    #expect(folder.files == [output])
    expectPictures(in: "\(output)/")
    #expect(ending.output.hasPrefix("Downloading 20 pictures, at most 3 at once, from 127.0.0.1:"))
    #expect(ending.output.contains("saw 20 requests, and at most 3 in flight at once.\n"))
    #expect(ending.output.hasSuffix("The pictures are in \(folder.path)/\(output)\n"))
    #expect(ending.output.split(separator: "\n").count { $0.hasPrefix("  ") } == 20)
    #expect(ending.errors.contains("20 done: "))
    #expect(!(ending.output + ending.errors).contains { $0 == "\u{1b}" || $0 == "\r" })
  }

  @Test("Another limit is kept as well", arguments: [5])
  func limit(limit: Int) async throws {
    let ending = try await CommandRun.ending(["demo", "-n", "\(limit)", "-o", folder.path])
    #expect(ending.status == 0)
    #expect(ending.output.contains("at most \(limit) in flight at once.\n"))
    expectPictures()
  }

  @Test("A bar is drawn when it is asked for, also on a pipe, and never when it is not wanted")
  func bar() async throws {
    let always = try await demo("--progress", "always")
    #expect(always.errors.contains("\r\u{1b}[J["))
    let never = try await demo("--progress", "never")
    #expect(never.errors.hasPrefix("0 done, 20 skipped: "))
    #expect(never.output.contains("01.png  was there already\n"))
    expectPictures()
  }

  @Test("Quiet is quiet, and events stand alone on standard output")
  func quiet() async throws {
    let quiet = try await demo("-q")
    #expect(quiet.output.isEmpty && quiet.errors.isEmpty)
    expectPictures()
    let events = try await demo("--events", "-")
    #expect(try events.events.endedIDs == Array(1...20))
  }

  @Test("A reader of its lines that goes ends it")
  func readerGoes() async throws {
    let output = try Wire.output()
    let run = try CommandRun(["demo", "-n1", "-o", folder.path], output: .wire(output))
    #expect(!(await output.readSome()).isEmpty)
    output.close()
    #expect(await run.ending.status == 130)
    #expect(folder.files.count < 20)
  }

  @Test("A folder for temporary files that is not there is named")
  func temporaryFolder() async throws {
    let missing = "\(folder.path)/missing"
    let ending = try await CommandRun.ending(["demo"], environment: ["TMPDIR": missing])
    #expect(ending.status == 73)
    #expect(
      ending.errors
        == "batchwise: \(missing): no folder can be made here: No such file or directory\n")
  }

  private func demo(_ arguments: String...) async throws -> CommandRun.Ending {
    try await CommandRun.ending(["demo", "-n", "20", "-o", folder.path] + arguments)
  }

  private func expectPictures(in path: String = "") {
    for (index, picture) in DemoPicturesTests.pictures.enumerated() {
      let name = "\(path)\(index < 9 ? "0" : "")\(index + 1).png"
      #expect(folder[name] == picture, "\(name)")
    }
    if path.isEmpty { #expect(folder.files.count == 20) }
  }
}
