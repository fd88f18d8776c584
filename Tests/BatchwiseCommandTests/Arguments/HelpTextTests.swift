// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import BatchwiseCommand

@Suite("What the command says of itself", .timeLimit(.minutes(1)))
struct HelpTextTests {
  private static let fetchText = """
    usage: batchwise fetch [OPTIONS] [URL ...]

    Downloads every URL of a list, at most N at once.

      -i, --input FILE     the list, one URL a line (-, or no list: standard input)
      -o, --output DIR     where files go; made if missing (default: .)
      -n, --limit N        at most N in flight (default: 8)
          --events FILE|-  what happens, as lines of JSON (-: standard output)
          --progress WHEN  auto (a bar on a terminal), always (a bar) or never
      -q, --quiet          say nothing but what went wrong
      -h, --help           show this text
          --version        show the version

    """

  private static let demoText = """
    usage: batchwise demo [OPTIONS]

    The same on 20 pictures from inside the program: nothing to set up, no network.

      -o, --output DIR     where files go (default: a new temporary folder)
      -n, --limit N        at most N in flight (default: 3)
          --events FILE|-  what happens, as lines of JSON (-: standard output)
          --progress WHEN  auto (a bar on a terminal), always (a bar) or never
      -q, --quiet          say nothing but what went wrong
      -h, --help           show this text
          --version        show the version

    """

  @Test(
    "Each form of asking for help gets the whole text on standard output",
    arguments: [
      (["fetch", "--help"], fetchText), (["fetch", "-h"], fetchText),
      (["fetch", "a", "--help", "--limit", "3"], fetchText), (["help", "fetch"], fetchText),
      (["demo", "--help"], demoText), (["help", "demo"], demoText),
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
    for line in [Self.fetchText, Self.demoText, overview].joined().split(separator: "\n") {
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
