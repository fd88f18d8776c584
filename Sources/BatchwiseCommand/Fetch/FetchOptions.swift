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

  /// Every option of `fetch`.
  static let table: [CommandOption<FetchOptions>] =
    [
      CommandOption(
        "i", "input", "FILE", "the list, one URL a line; - or no list at all is standard input"
      ) { $0.input = $1 },
      CommandOption("o", "output", "DIR", "where files go; made if missing (default: .)") {
        $0.output = $1
      },
    ] + shared(limit: 8)

  /// The options that `fetch` and `demo` have in common.
  static func shared(limit: Int) -> [CommandOption<FetchOptions>] {
    [
      CommandOption("n", "limit", "N", "at most N in flight (default: \(limit))") {
        options, text throws(UsageError) in
        options.limit = try positiveNumber(text, of: "--limit")
      },
      CommandOption(
        nil, "events", "FILE|-", "write what happens as lines of JSON; - is standard output"
      ) { $0.events = $1 },
      CommandOption(
        nil, "progress", "auto|always|never",
        "a bar on a terminal and plain lines elsewhere, always a bar, or nothing (default: auto)"
      ) { options, text throws(UsageError) in
        guard let progress = Progress(rawValue: text) else {
          throw UsageError("--progress \(text): give auto, always or never")
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
