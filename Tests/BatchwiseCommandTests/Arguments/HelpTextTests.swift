// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import BatchwiseCommand

@Suite("What the command says of itself", .timeLimit(.minutes(1)))
struct HelpTextTests {
  private static let fetchText = helpText(
    "fetch [OPTIONS] [URL ...]", fetchSummary, FetchOptions.table)
  private static let serveText = helpText(
    "serve [OPTIONS] [URL ...]", serveSummary, FetchOptions.serveTable)
  private static let demoText = helpText("demo [OPTIONS]", demoSummary, FetchOptions.demoTable)
  private static let statusText = helpText(
    "status [OPTIONS] DIR", statusSummary, StatusOptions.table)

  @Test("A help text has one line for each option, in columns")
  func form() {
    #expect(
      Self.statusText == """
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
      (["fetch", "--help"], fetchText), (["fetch", "-h"], fetchText),
      (["fetch", "a", "--help", "--limit", "3"], fetchText), (["help", "fetch"], fetchText),
      (["serve", "--help"], serveText), (["help", "serve"], serveText),
      (["demo", "--help"], demoText), (["help", "demo"], demoText),
      (["status", "--help"], statusText), (["help", "status"], statusText),
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
    for line in [Self.fetchText, Self.demoText, Self.statusText, overview].joined().split(
      separator: "\n")
    {
      #expect(line.count <= 80, "\(line)")
    }
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
