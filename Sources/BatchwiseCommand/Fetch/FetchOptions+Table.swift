// SPDX-License-Identifier: Apache-2.0

internal import Batchwise
internal import BatchwiseDownload
internal import CurlTransport

extension FetchOptions {
  private typealias Option = CommandOption<FetchOptions>

  /// Every option of `fetch`.
  static let table: [CommandOption<FetchOptions>] =
    list + limits(8) + patience + files + request + memory + reports

  /// Every option of `serve`: its own, and those of `fetch`.
  static let serveTable: [CommandOption<FetchOptions>] = page + table

  /// Every option of `demo`: what makes sense for a list that is its own.
  static let demoTable: [CommandOption<FetchOptions>] =
    [outputOption("a new one")] + limits(3)
    + [
      Option("serve", nil, "show it as a page in the browser") { options, _ in
        options.page = options.page ?? Page()
      }
    ] + page + reports

  // MARK: - The page

  private static let page: [Option] = [
    Option("port", "N", "where the page is served (default: a free one)") {
      options, text throws(Refusal) in
      guard let port = UInt16(text) else {
        throw Refusal(.usage, of: "--port", text, "give a whole number from 0 to 65535")
      }
      options.page = options.page ?? Page()
      options.page?.port = port
    },
    Option("start", nil, "begin at once, without a press of the button") { options, _ in
      options.page = options.page ?? Page()
      options.page?.startsAtOnce = true
    },
  ]

  // MARK: - The list and the folder

  private static let list: [Option] = [
    Option("i", "input", "FILE", "the list (-, or no list at all: standard input)") {
      options, text throws(Refusal) in options.input = try path(text, of: "--input")
    },
    Option("format", "FORMAT", "auto, lines, tsv, csv or ndjson (default: auto)") {
      options, text throws(Refusal) in options.format = try word(text, of: "--format")
    },
    outputOption("."),
  ]

  private static func outputOption(_ usual: String) -> Option {
    Option("o", "output", "DIR", "where files go, made if missing (default: \(usual))") {
      options, text throws(Refusal) in options.output = try path(text, of: "--output")
    }
  }

  // MARK: - How much at once

  private static func limits(_ usual: Int) -> [Option] {
    [
      Option("n", "limit", "N|auto", "at most N in flight (default: \(usual)); auto: found out") {
        options, text throws(Refusal) in
        options.run.findsLimit = text == "auto"
        options.run.limit = text == "auto" ? 64 : try positiveNumber(text, of: "--limit")
      },
      Option("per-host", "N", "at most N in flight to one host (default: 6)") {
        options, text throws(Refusal) in
        options.run.limitPerHost = try positiveNumber(text, of: "--per-host")
      },
      Option("rate", "N/s", "at most N requests started a second") {
        options, text throws(Refusal) in
        let number = try positiveNumber(perSecond(text), of: "--rate", as: text)
        options.run.rate = .tokenBucket(number, per: .seconds(1), burst: max(1, number / 10))
      },
      Option("bandwidth", "BYTES/s", "at most so many bytes a second, over all") {
        options, text throws(Refusal) in
        let bytes = try byteCount(perSecond(text), of: "--bandwidth", as: text, atLeast: 1)
        options.transport.bandwidth = Int(bytes)
      },
    ]
  }

  // MARK: - Patience

  private static let patience: [Option] = [
    Option("retries", "N", "further attempts, where they may help (default: 4)") {
      options, text throws(Refusal) in options.run.retries = try count(text, of: "--retries")
    },
    Option("connect-timeout", "TIME", "to connect (default: 10s)") {
      options, text throws(Refusal) in
      options.run.timeouts.connect = try duration(text, of: "--connect-timeout")
    },
    Option("idle-timeout", "TIME", "without a byte (default: 30s)") {
      options, text throws(Refusal) in
      options.run.timeouts.idle = try duration(text, of: "--idle-timeout")
    },
    Option("timeout", "TIME", "for one transfer (default: none)") {
      options, text throws(Refusal) in
      options.run.timeouts.total = try duration(text, of: "--timeout")
    },
    Option("max-time", "TIME", "for the whole run (default: none)") {
      options, text throws(Refusal) in options.maxTime = try duration(text, of: "--max-time")
    },
  ]

  // MARK: - Files

  private static let files: [Option] = [
    Option("max-size", "BYTES", "refuse longer files, also while they come") {
      options, text throws(Refusal) in
      options.run.filter.largest = try byteCount(text, of: "--max-size")
    },
    Option("min-size", "BYTES", "refuse shorter files") { options, text throws(Refusal) in
      options.run.filter.smallest = try byteCount(text, of: "--min-size")
    },
    Option("expect", "image|TYPE", "refuse files of another kind, such as web pages") {
      options, text throws(Refusal) in
      guard let kind = WantedKind(text) else {
        throw Refusal(.usage, of: "--expect", text, "give image, or a type such as image/png")
      }
      options.run.filter.kind = kind
    },
    Option("names", "HOW", "name files by url, hash or index (default: url)") {
      options, text throws(Refusal) in options.run.naming = try word(text, of: "--names")
    },
    Option("collision", "HOW", "suffix, skip, overwrite or fail (default: suffix)") {
      options, text throws(Refusal) in options.run.collisions = try word(text, of: "--collision")
    },
  ]

  // MARK: - The request

  private static let request: [Option] = [
    Option("H", "header", "NAME: VALUE", "send this too; can be repeated") {
      options, text throws(Refusal) in
      guard let field = HeaderField(text) else {
        // Its value may be a secret, and without a colon all of it may be one.
        let name = text.contains(":") ? String(text.prefix { $0 != ":" }) : ""
        throw Refusal(.usage, of: "--header", name, "give it as 'Name: value'")
      }
      options.run.headers.append(field)
    },
    Option("user-agent", "TEXT", "what requests say they come from") {
      options, text throws(Refusal) in
      guard let field = HeaderField("User-Agent: \(text)") else {
        throw Refusal(.usage, of: "--user-agent", text, "give a text without control characters")
      }
      options.transport.userAgent = field.value.isEmpty ? nil : field.value
    },
    Option("netrc", nil, "take names and passwords from ~/.netrc or $NETRC") { options, _ in
      options.run.usesNetrc = true
    },
    Option("proxy", "URL", "go through this proxy, not the environment's") {
      options, text in options.transport.proxy = text
    },
    Option("cacert", "FILE", "certificates that may vouch for servers") {
      options, text throws(Refusal) in
      options.transport.caCertificates = try path(text, of: "--cacert")
    },
    Option("insecure", nil, "trust servers without a good certificate") { options, _ in
      options.transport.isInsecure = true
    },
    Option("http", "1.1|2", "the version of HTTP (default: 1.1)") {
      options, text throws(Refusal) in
      switch text {
      case "1.1": options.transport.httpVersion = .http1_1
      case "2": options.transport.httpVersion = .http2
      default: throw Refusal(.usage, of: "--http", text, "give 1.1 or 2")
      }
    },
  ]

  // MARK: - What is remembered

  private static let memory: [Option] = [
    Option("journal", "FILE", "where to remember (default: DIR/.batchwise/...)") {
      options, text throws(Refusal) in
      options.journal = try path(text, of: "--journal")
      options.usesJournal = true
    },
    Option("no-journal", nil, "remember nothing") { options, _ in options.usesJournal = false },
    Option("retry-failed", nil, "try again what has failed in an earlier run") { options, _ in
      options.run.recorded.retriesFailed = true
    },
    Option("refresh", nil, "ask whether what is done has changed") { options, _ in
      options.run.recorded.refreshesDone = true
    },
    Option("fresh", nil, "forget the journal, and fetch everything again") { options, _ in
      options.isFresh = true
    },
    Option("unfinished", "FILE", "what is not done at the end, as a list for -i") {
      options, text throws(Refusal) in options.unfinished = try path(text, of: "--unfinished")
    },
  ]

  // MARK: - Reports

  private static let reports: [Option] = [
    Option("events", "FILE|-", "what happens, as JSON (-: standard output)") {
      options, text throws(Refusal) in options.events = try path(text, of: "--events")
    },
    Option("progress", "WHEN", "auto (a bar on a terminal), always or never") {
      options, text throws(Refusal) in options.progress = try word(text, of: "--progress")
    },
    Option("q", "quiet", nil, "say nothing but what went wrong") { options, _ in
      options.isQuiet = true
    },
    Option("v", "verbose", nil, "say what becomes of each item") { options, _ in
      options.isVerbose = true
    },
    Option("h", "help", nil, "show this text") { options, _ in options.wantsHelp = true },
    Option("version", nil, "show the version") { options, _ in options.wantsVersion = true },
  ]
}
