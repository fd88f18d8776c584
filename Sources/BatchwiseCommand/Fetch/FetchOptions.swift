// SPDX-License-Identifier: Apache-2.0

/// What `batchwise fetch` was asked to do.
struct FetchOptions: Sendable {
  /// Addresses given as arguments; they come before those of the list.
  var urls: [String] = []
  /// The list: a path, `-` for standard input, or nil.
  var input: String?
  var output = "."
  var limit = 8
  /// Where events go: a path, `-` for standard output, or nil.
  var events: String?
  var progress = Progress.auto
  var isQuiet = false
  var wantsHelp = false
  var wantsVersion = false

  enum Progress: String, CaseIterable {
    case auto, always, never
  }

  /// Takes what was typed besides options: addresses, or `-` for a list on standard input.
  mutating func add(operands: [String]) {
    urls = operands.filter { $0 != "-" }
    if urls.count < operands.count { input = input ?? "-" }
  }

  /// Every option of `fetch`.
  static let table: [CommandOption<FetchOptions>] =
    [
      CommandOption(
        "i", "input", "FILE", "the list, one URL a line (-, or no list: standard input)"
      ) { options, text throws(Refusal) in options.input = try path(text, of: "--input") },
      CommandOption("o", "output", "DIR", "where files go; made if missing (default: .)") {
        options, text throws(Refusal) in
        options.output = try path(text, of: "--output")
      },
    ] + shared(limit: 8)

  /// The options that `fetch` and `demo` have in common.
  static func shared(limit: Int) -> [CommandOption<FetchOptions>] {
    [
      CommandOption("n", "limit", "N", "at most N in flight (default: \(limit))") {
        options, text throws(Refusal) in
        options.limit = try positiveNumber(text, of: "--limit")
      },
      CommandOption(
        nil, "events", "FILE|-", "what happens, as lines of JSON (-: standard output)"
      ) { options, text throws(Refusal) in options.events = try path(text, of: "--events") },
      CommandOption(
        nil, "progress", "WHEN",
        "auto (a bar on a terminal), always (a bar) or never"
      ) { options, text throws(Refusal) in
        guard let progress = Progress(rawValue: text) else {
          throw Refusal(.usage, of: "--progress", text, "give auto, always or never")
        }
        options.progress = progress
      },
      CommandOption("q", "quiet", nil, "say nothing but what went wrong") { options, _ in
        options.isQuiet = true
      },
      CommandOption("h", "help", nil, "show this text") { options, _ in
        options.wantsHelp = true
      },
      CommandOption(nil, "version", nil, "show the version") { options, _ in
        options.wantsVersion = true
      },
    ]
  }
}
