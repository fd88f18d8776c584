// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import BatchwiseCommand

@Suite("Reading what was typed", .timeLimit(.minutes(1)))
struct ParseArgumentsTests {
  @Test("Every option sets what it names, in its long and its short form")
  func options() throws {
    let short = try parse("-i list -o folder -n 3 -q -h")
    let long = try parse("--input list --output folder --limit 3 --quiet --help")
    for options in [short, long] {
      #expect(options.input == "list")
      #expect(options.output == "folder")
      #expect(options.limit == 3)
      #expect(options.isQuiet)
      #expect(options.wantsHelp)
    }
    let rest = try parse("--events - --progress never --version")
    #expect(rest.events == "-")
    #expect(rest.progress == .never)
    #expect(rest.wantsVersion)
  }

  @Test("What is not typed is as the help text says")
  func defaults() throws {
    let options = try parse("")
    #expect(options.input == nil)
    #expect(options.output == ".")
    #expect(options.limit == 8)
    #expect(options.events == nil)
    #expect(options.progress == .auto)
    #expect(!options.isQuiet)
    #expect(FetchOptions.demo.limit == 3)
  }

  @Test(
    "An argument may be written in every usual way",
    arguments: ["-n3", "-n 3", "-qn3", "--limit=3", "--limit 3", "--lim 3", "-n 9 -n 3", "-n 03"])
  func spellings(typed: String) throws {
    #expect(try parse(typed).limit == 3)
  }

  @Test("Options and addresses may be mixed, and -- ends the options")
  func operands() throws {
    let options = try parse("a -n 3 b -- -q --limit c")
    #expect(options.urls == ["a", "b", "-q", "--limit", "c"])
    #expect(options.limit == 3)
    #expect(!options.isQuiet)
  }

  @Test("A lone dash is the list on standard input")
  func dash() throws {
    let options = try parse("a - b")
    #expect(options.urls == ["a", "b"])
    #expect(options.input == "-")
    #expect(try parse("- -i list").input == "list")
  }

  @Test(
    "A bad number is named, and what would be right",
    arguments: [
      "0", "-1", "abc", "", " 3", "3.0", "0x3", "=3", "1000001", "99999999999999999999", "٣",
    ])
  func numbers(text: String) throws {
    let refusal = #expect(throws: Refusal.self) { try parse(["--limit", text]) }
    #expect(refusal?.status == .usage)
    let named = text.isEmpty ? "''" : text
    #expect(refusal?.message == "--limit \(named): give a whole number from 1 to 1000000")
  }

  @Test(
    "What is no option is named as it was typed",
    arguments: [
      ("--retries 3", "--retries"), ("-x", "-x"), ("-qx", "-x"), ("-xq", "-x"),
      ("--quiet -xq", "-x"), ("-é", "-é"), ("-qé", "-qé"), ("-n3 --foo=bar", "--foo=bar"),
      ("a --foo b", "--foo"), ("---", "---"),
    ])
  func unknown(typed: String, named: String) throws {
    let refusal = #expect(throws: Refusal.self) { try parse(typed) }
    #expect(refusal?.message == "\(named): there is no such option; --help lists them")
  }

  @Test(
    "Options of the contract that are not built are unknown, not ignored",
    arguments: [
      "format", "per-host", "rate", "bandwidth", "retries", "connect-timeout", "idle-timeout",
      "timeout", "max-time", "max-size", "min-size", "expect", "names", "collision", "header",
      "user-agent", "netrc", "proxy", "cacert", "insecure", "http", "journal", "no-journal",
      "retry-failed", "refresh", "fresh", "unfinished", "verbose",
    ])
  func notBuilt(name: String) throws {
    let refusal = #expect(throws: Refusal.self) { try parse(["--\(name)", "1"]) }
    #expect(refusal?.message == "--\(name): there is no such option; --help lists them")
  }

  @Test(
    "An argument that is missing, empty or too much is named",
    arguments: [
      (["--limit"], "--limit: this option needs an argument"),
      (["-n"], "-n: this option needs an argument"),
      (["-qn"], "-n: this option needs an argument"),
      (["--quiet=yes"], "--quiet=yes: this option takes no argument"),
      (["--input", ""], "--input '': give a path; this one is empty"),
      (["-o", ""], "--output '': give a path; this one is empty"),
      (["--events="], "--events '': give a path; this one is empty"),
      (["--progress", "sometimes"], "--progress sometimes: give auto, always or never"),
    ])
  func arguments(typed: [String], message: String) throws {
    #expect(throws: Refusal(message)) { try parse(typed) }
  }

  @Test("A hundred thousand addresses are read as they are")
  func many() throws {
    let urls = (1...100_000).map { "http://host/\($0)" }
    #expect(try parse(urls + ["-n3"]).urls == urls)
  }

  @Test("Several can be read at once, though the C library keeps its place in one variable")
  func atOnce() async throws {
    try await withThrowingTaskGroup { group in
      for number in 1...100 {
        group.addTask { (number, try parse(["a", "-n", "\(number)", "b"])) }
      }
      for try await (number, options) in group {
        #expect(options.limit == number)
        #expect(options.urls == ["a", "b"])
      }
    }
  }
}

private func parse(_ typed: String) throws(Refusal) -> FetchOptions {
  try parse(typed.split(separator: " ").map(String.init))
}

@discardableResult
private func parse(_ arguments: [String]) throws(Refusal) -> FetchOptions {
  var options = FetchOptions()
  options.add(operands: try parseArguments(arguments, FetchOptions.table, into: &options))
  return options
}

extension Refusal {
  /// A usage error with this whole message.
  fileprivate init(_ message: String) {
    let parts = message.split(separator: ": ", maxSplits: 1).map(String.init)
    self.init(.usage, parts[0], parts[1])
  }
}
