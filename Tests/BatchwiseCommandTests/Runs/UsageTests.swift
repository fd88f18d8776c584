// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import TestSupport
import Testing

@testable import BatchwiseCommand

extension CommandRuns {
  @Suite("What is refused before anything starts")
  struct UsageTests {
    private let folder: TemporaryFolder
    private let origin: MisbehavingOrigin

    init() throws {
      folder = try TemporaryFolder()
      origin = try MisbehavingOrigin()
      origin.onEverythingElse(.ok("hello"))
    }

    @Test(
      "It is told in one line that names the value, and nothing is begun or made",
      arguments: [
        (
          ["fetch", "-i", "FOLDER/missing"], 64, "--input FOLDER/missing: No such file or directory"
        ),
        (["fetch", "-i", "FOLDER"], 64, "--input FOLDER: this is a folder; give a file of URLs"),
        (
          ["fetch", "--limit", "0", "ADDRESS"], 64,
          "--limit 0: give a whole number from 1 to 1000000"
        ),
        (["fetch", "-nabc", "ADDRESS"], 64, "--limit abc: give a whole number from 1 to 1000000"),
        (
          ["fetch", "--mirrors", "3", "ADDRESS"], 64,
          "--mirrors: there is no such option; --help lists them"
        ),
        (["fetch", "-x", "A: b", "ADDRESS"], 64, "-x: there is no such option; --help lists them"),
        (["fetch", "ADDRESS", "--output"], 64, "--output: this option needs an argument"),
        (
          ["fetch", "ADDRESS", "-o", "/proc/none"], 73,
          "--output /proc/none: No such file or directory"
        ),
        (["fetch", "ADDRESS", "-o", "/dev/null"], 73, "--output /dev/null: Not a directory"),
        (
          ["fetch", "ADDRESS", "-o", "/dev/null/a/b"], 73, "--output /dev/null/a/b: Not a directory"
        ),
        (
          ["fetch", "ADDRESS", "--events", "FOLDER/a/b"], 73,
          "--events FOLDER/a/b: No such file or directory"
        ),
        (["fetch", "ADDRESS", "--events", "FOLDER"], 73, "--events FOLDER: Is a directory"),
        (["watch"], 64, "watch: there is no such command; batchwise help lists them"),
        (["help", "watch"], 64, "watch: there is no such command; batchwise help lists them"),
        (["serve", "--port", "65536"], 64, "--port 65536: give a whole number from 0 to 65535"),
        (["demo", "--port", "x"], 64, "--port x: give a whole number from 0 to 65535"),
        (["serve", "ADDRESS", "-n", "0"], 64, "--limit 0: give a whole number from 1 to 1000000"),
        ([""], 64, "'': there is no such command; batchwise help lists them"),
        (
          ["http://me:secret@host/a"], 64,
          "http://host/a: there is no such command; batchwise help lists them"
        ),
        (
          ["demo", "a\u{1b}[31m\nb"], 64,
          "a\u{FFFD}[31m\u{FFFD}b: batchwise demo takes options only; its pictures are its own"
        ),
        (["demo", "-i", "list"], 64, "-i: there is no such option; --help lists them"),
      ])
    func refused(arguments: [String], status: Int32, message: String) async throws {
      let output = try TemporaryFolder()
      func filled(_ text: String) -> String {
        text.replacing("FOLDER", with: folder.path).replacing("ADDRESS", with: origin.url("/a"))
      }
      // An option that stands later wins, so this folder is for those that name none.
      let typed =
        arguments[0] == "fetch"
        ? ["fetch", "-o", output.path] + arguments.dropFirst().map(filled) : arguments
      let ending = try await CommandRun.ending(typed)
      #expect(ending.errors == "batchwise: \(filled(message))\n")
      #expect(ending.output.isEmpty)
      #expect(ending.status == status)
      #expect(origin.record.requests.isEmpty)
      // The journal is opened before what a run in use of it may be writing is emptied.
      #expect(status == 73 ? output.files.isEmpty : output.names.isEmpty)
      #expect(folder.files.isEmpty)
    }

    @Test("A file in the way of the output folder is left alone")
    func fileInTheWay() async throws {
      try folder.write(Array("precious".utf8), to: "file")
      let path = "\(folder.path)/file"
      let ending = try await CommandRun.ending(["fetch", origin.url("/a"), "-o", path])
      #expect(ending.errors == "batchwise: --output \(path): Not a directory\n")
      #expect(ending.status == 73)
      #expect(folder["file"] == Array("precious".utf8))
      #expect(origin.record.requests.isEmpty)
    }

    @Test("A list on a terminal is refused with a hint, for nobody would know what it waits for")
    func terminal() async throws {
      for arguments in [["fetch"], ["fetch", "-i", "-"], ["fetch", "-"]] {
        let ending = try await CommandRun.ending(
          arguments + ["-o", "\(folder.path)/made"], input: .wire(.terminal()))
        #expect(
          ending.errors
            == "batchwise: there is no list: give URLs, -i FILE, or a list on standard input\n")
        #expect(ending.status == 64)
        #expect(folder.files.isEmpty)
      }
    }

    @Test("A terminal does not matter where there are addresses")
    func terminalBesides() async throws {
      let ending = try await CommandRun.ending(
        ["fetch", origin.url("/a"), "-o", folder.path], input: .wire(.terminal()))
      #expect(ending.status == 0)
      #expect(folder["a"] == Array("hello".utf8))
    }

    @Test("A closed standard input is no list, and a folder there is none either")
    func noList() async throws {
      let closed = try await CommandRun.ending(["fetch", "-o", "\(folder.path)/o"], input: .closed)
      #expect(
        closed.errors
          == "batchwise: there is no list: give URLs, -i FILE, or a list on standard input\n")
      #expect(closed.status == 64)
      let listing = try await CommandRun.ending(
        ["fetch", "-o", "\(folder.path)/o"], input: .file(folder.path))
      #expect(
        listing.errors
          == "batchwise: standard input: this is a folder; give a list of URLs\n")
      #expect(listing.status == 64)
      #expect(folder.files.isEmpty)
    }

    @Test("The list is not taken for the events file: it would be lost, or grow for ever")
    func listAsEvents() async throws {
      let list = Array("\(origin.url("/a"))\n".utf8)
      try folder.write(list, to: "list")
      let path = "\(folder.path)/list"
      let onto = try await CommandRun.ending(
        ["fetch", "-i", path, "--events", path, "-o", "\(folder.path)/o"])
      #expect(onto.errors == "batchwise: --events \(path): this is the list; give another file\n")
      #expect(onto.status == 64)
      let redirected = try CommandRun(
        ["fetch", "--events", "-", "-o", "\(folder.path)/o"], input: .file(path),
        output: .file(path))
      #expect(await redirected.ending.status == 64)
      #expect(folder["list"] == list)
      #expect(origin.record.requests.isEmpty)
    }

    @Test("What is typed must be text, for a folder would get another name")
    func notText() async throws {
      let ending = try await CommandRun.ending(
        [], through: ["/usr/bin/env", "sh", "-c", #"exec "$0" fetch -o "$(printf 'a\377')""#])
      #expect(ending.errors == "batchwise: a\u{FFFD}: argument 3 is not text in UTF-8\n")
      #expect(ending.status == 64)
    }
  }
}
