// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import CurlTransport

/// What `batchwise fetch` was asked to do.
struct FetchOptions: Sendable {
  /// Addresses given as arguments; they come before those of the list.
  var urls: [String] = []
  /// The list: a path, `-` for standard input, or nil.
  var input: String?
  var format = ListFormat.auto
  var output = "."

  /// How the run goes about its list.
  var run = DownloadOptions()
  /// How requests are sent.
  var transport = CurlTransport.Options(userAgent: "batchwise/\(batchwiseVersion)")
  /// How long the whole run may take; nil for as long as it does.
  var maxTime: Duration?

  /// Where the journal is; nil for its place in the output folder.
  var journal: String?
  var usesJournal = true
  /// Whether what the journal knows is forgotten at first.
  var isFresh = false
  /// Where the items go that are not done; nil for nowhere.
  var unfinished: String?

  /// Where events go: a path, `-` for standard output, or nil.
  var events: String?
  var progress = Progress.auto
  var isQuiet = false
  var isVerbose = false
  var wantsHelp = false
  var wantsVersion = false

  /// The page that shows the run and steers it, if there is to be one.
  var page: Page?

  /// How a page is opened.
  struct Page: Sendable {
    /// The port to listen on; 0 for one of the system's choice.
    var port: UInt16 = 0
    /// Whether the run begins at once, and not when somebody says so on the page.
    var startsAtOnce = false
  }

  enum Progress: String, CaseIterable {
    case auto, always, never
  }

  /// Takes what was typed besides options: addresses, or `-` for a list on standard input.
  mutating func add(operands: [String]) {
    urls = operands.filter { $0 != "-" }
    if urls.count < operands.count { input = input ?? "-" }
  }
}
