// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseDownload
import CurlTransport
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
      #expect(options.run.limit == 3)
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
    #expect(options.run.limit == 8)
    #expect(options.events == nil)
    #expect(options.progress == .auto)
    #expect(!options.isQuiet)
    #expect(FetchOptions.demo.run.limit == 3)
  }

  @Test(
    "An argument may be written in every usual way",
    arguments: ["-n3", "-n 3", "-qn3", "--limit=3", "--limit 3", "--limi 3", "-n 9 -n 3", "-n 03"])
  func spellings(typed: String) throws {
    #expect(try parse(typed).run.limit == 3)
  }

  @Test("Options and addresses may be mixed, and -- ends the options")
  func operands() throws {
    let options = try parse("a -n 3 b -- -q --limit c")
    #expect(options.urls == ["a", "b", "-q", "--limit", "c"])
    #expect(options.run.limit == 3)
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
      ("--mirrors 3", "--mirrors"), ("-x", "-x"), ("-qx", "-x"), ("-xq", "-x"),
      ("--quiet -xq", "-x"), ("-é", "-é"), ("-qé", "-qé"), ("-n3 --foo=bar", "--foo=bar"),
      ("a --foo b", "--foo"), ("---", "---"),
    ])
  func unknown(typed: String, named: String) throws {
    let refusal = #expect(throws: Refusal.self) { try parse(typed) }
    #expect(refusal?.message == "\(named): there is no such option; --help lists them")
  }

  @Test("Sizes, times and rates are read as they are usually written")
  func values() throws {
    let options = try parse(
      "--max-size 1.5k --min-size 7 --bandwidth 2M/s --rate 20/s --timeout 500ms "
        + "--idle-timeout 2m --connect-timeout 10 --max-time 1.5h --retries 0 --per-host 3")
    #expect(options.run.filter.largest == 1536)
    #expect(options.run.filter.smallest == 7)
    #expect(options.transport.bandwidth == 2 * 1024 * 1024)
    #expect(options.run.rate == .tokenBucket(20, per: .seconds(1), burst: 2))
    #expect(options.run.timeouts.total == .milliseconds(500))
    #expect(options.run.timeouts.idle == .seconds(120))
    #expect(options.run.timeouts.connect == .seconds(10))
    #expect(options.maxTime == .seconds(5400))
    #expect(options.run.retries == 0)
    #expect(options.run.limitPerHost == 3)
    #expect(try parse("--rate 20 --bandwidth 100").transport.bandwidth == 100)
    #expect(try parse("--limit auto").run.findsLimit)
    #expect(try !parse("--limit auto --limit 3").run.findsLimit)
  }

  @Test(
    "A value that cannot be is named, and what would be right",
    arguments: [
      ("--max-size", "1.5"), ("--max-size", "-1"), ("--max-size", "1q"), ("--max-size", "k"),
      ("--max-size", "1e3"), ("--bandwidth", "0"), ("--bandwidth", "nan"), ("--rate", "0/s"),
      ("--rate", "5/m"), ("--timeout", "0"), ("--timeout", "-5s"), ("--timeout", "inf"),
      ("--timeout", "5x"), ("--timeout", "s"), ("--retries", "-1"), ("--per-host", "0"),
      ("--names", "best"), ("--collision", "maybe"), ("--format", "xml"), ("--http", "3"),
      ("--expect", "a b"), ("--progress", "no"),
    ])
  func badValues(option: String, value: String) throws {
    let refusal = #expect(throws: Refusal.self) { try parse([option, value]) }
    #expect(refusal?.status == .usage)
    #expect(refusal?.message.hasPrefix("\(option) \(value): give ") == true)
  }

  @Test("What may be a secret is not repeated when it is refused")
  func secrets() throws {
    let refusal = #expect(throws: Refusal.self) { try parse(["-H", "X-Key: hush\nX: y"]) }
    #expect(refusal?.message == "--header X-Key: give it as 'Name: value'")
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
        #expect(options.run.limit == number)
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
