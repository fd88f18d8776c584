// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import BatchwiseCommand

@Suite("What the command says of itself", .timeLimit(.minutes(1)))
struct HelpTextTests {
  @Test("A help text has one line for each option, in columns")
  func form() {
    #expect(
      CommandText.status.help == """
        usage: batchwise status [OPTIONS] DIR

        Says what the journal of an output folder knows: done, failed, left to do.

              --journal FILE  where the journal is (default: DIR/.batchwise/...)
          -h, --help          show this text
              --version       show the version

        """)
  }

  @Test("Every option of the contract is there, and no other")
  func contract() {
    let names: Set = [
      "input", "format", "output", "limit", "per-host", "rate", "bandwidth", "retries",
      "connect-timeout", "idle-timeout", "timeout", "max-time", "max-size", "min-size", "expect",
      "names", "collision", "header", "user-agent", "netrc", "proxy", "cacert", "insecure", "http",
      "journal", "no-journal", "retry-failed", "refresh", "fresh", "unfinished", "events",
      "progress", "quiet", "verbose", "help", "version",
    ]
    #expect(Set(FetchOptions.table.map(\.name)) == names)
    #expect(FetchOptions.table.count == names.count)
    let letters = FetchOptions.table.compactMap(\.letter)
    #expect(Set(letters) == ["i", "o", "n", "H", "q", "v", "h"])
    #expect(letters.count == 7)
    #expect(Set(FetchOptions.serveTable.map(\.name)) == names.union(["port", "start"]))
  }

  @Test(
    "Each form of asking for help gets the whole text on standard output",
    arguments: [
      (["fetch", "--help"], CommandText.fetch.help), (["fetch", "-h"], CommandText.fetch.help),
      (["fetch", "a", "--help", "--limit", "3"], CommandText.fetch.help),
      (["help", "fetch"], CommandText.fetch.help),
      (["serve", "--help"], CommandText.serve.help), (["help", "serve"], CommandText.serve.help),
      (["demo", "--help"], CommandText.demo.help), (["help", "demo"], CommandText.demo.help),
      (["status", "--help"], CommandText.status.help),
      (["help", "status"], CommandText.status.help),
      (["help"], overview), (["--help"], overview), (["-h"], overview),
      (["--version"], "batchwise \(batchwiseVersion)\n"),
      (["fetch", "--version"], "batchwise \(batchwiseVersion)\n"),
      (["demo", "--version"], "batchwise \(batchwiseVersion)\n"),
    ])
  func help(arguments: [String], text: String) async throws {
    let ending = try await CommandRun.ending(arguments)
    #expect(ending.output == text)
    #expect(ending.errors.isEmpty)
    #expect(ending.status == 0)
  }

  @Test("Without a word the overview goes to standard error, for nothing was done")
  func nothing() async throws {
    let ending = try await CommandRun.ending([])
    #expect(ending.errors == overview)
    #expect(ending.output.isEmpty)
    #expect(ending.status == 64)
  }

  @Test("No line is wider than a terminal of 80 columns")
  func width() {
    for line in (CommandText.all.map(\.help) + [overview]).joined().split(
      separator: "\n")
    {
      #expect(line.count <= 80, "\(line)")
    }
  }

  @Test("The manual page tells of every option, and no line of it is taken for a request")
  func manual() async throws {
    let ending = try await CommandRun.ending(["help", "--manual"])
    #expect(ending.status == 0 && ending.errors.isEmpty)
    for option in CommandText.all.flatMap(\.options) {
      let name = option.name.replacing("-", with: "\\-")
      #expect(ending.output.contains("\\fB\\-\\-\(name)\\fR"))
    }
    let requests = [".TH", ".SH", ".SS", ".TP", ".br", ".EX", ".EE"]
    for line in ending.output.split(separator: "\n") where line.hasPrefix(".") {
      #expect(requests.contains { line == $0 || line.hasPrefix($0 + " ") }, "\(line)")
    }
  }

  @Test("A shell that reads them completes commands and options")
  func completions() async throws {
    let ending = try await CommandRun.ending(["help", "--completions", "bash"])
    #expect(ending.status == 0)
    func completed(_ words: String, at place: Int) throws -> Set<String> {
      let bash = Process()
      bash.executableURL = URL(filePath: "/bin/bash")
      let text = "\(ending.output)\nCOMP_WORDS=(\(words)); COMP_CWORD=\(place); _batchwise; "
      bash.arguments = ["-c", text + "printf '%s\\n' \"${COMPREPLY[@]}\""]
      let pipe = Pipe()
      bash.standardOutput = pipe
      try bash.run()
      let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
      bash.waitUntilExit()
      return Set(String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init))
    }
    #expect(
      try completed("batchwise ''", at: 1) == ["fetch", "serve", "demo", "status", "help"])
    #expect(try completed("batchwise fetch --li", at: 2) == ["--limit"])
    #expect(
      try completed("batchwise serve http://h/ --p", at: 3)
        == ["--per-host", "--port", "--proxy", "--progress"])
    #expect(try completed("batchwise help st", at: 2) == ["status"])
    for shell in ["zsh", "fish"] {
      let ending = try await CommandRun.ending(["help", "--completions", shell])
      #expect(ending.status == 0 && ending.output.contains("limit"))
    }
    let odd = try await CommandRun.ending(["help", "--completions", "csh"])
    #expect(odd.status == 64)
    #expect(odd.errors == "batchwise: --completions csh: give bash, zsh or fish\n")
  }

  @Test("A text that cannot be written is an error, not a success")
  func full() async throws {
    let run = try CommandRun(["--help"], output: .file("/dev/full"))
    let ending = await run.ending
    #expect(ending.errors == "batchwise: standard output: No space left on device\n")
    #expect(ending.status == 74)
  }

  @Test("The exit statuses are those that scripts rely on")
  func statuses() {
    let statuses: [(CommandStatus, Int32)] = [
      (.success, 0), (.someFailed, 1), (.usage, 64), (.cannotCreate, 73), (.inputOutput, 74),
      (.interrupted, 130), (.terminated, 143),
    ]
    for (status, number) in statuses { #expect(status.rawValue == number) }
  }
}
