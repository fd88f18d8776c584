// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseDownload

@Suite(.timeLimit(.minutes(1)))
struct CSVRecordsTests {
  @Test(
    "Fields are cut at commas, and quotes hold commas, quotes and line breaks",
    arguments: [
      ("a,b", ["a|b"]), ("a,,b,", ["a||b|"]), (",", ["|"]), ("\"a,b\",c", ["a,b|c"]),
      ("\"a\"\"b\"", ["a\"b"]), ("\"\"", [""]), ("\"\",\"\"", ["|"]), ("\"\"\"\"", ["\""]),
      ("\"a\r\nb\",c\nd", ["a\nb|c", "d"]), ("\"\n\n\"\nx", ["\n\n", "x"]),
      (" a b\t, \"c \" ,d", ["a b|c |d"]), ("\"# a\",b\n# c\n", ["# a|b"]),
      ("\"a\n# b\n\"", ["a\n# b\n"]), ("\"a\n\nb\"", ["a\n\nb"]),
    ])
  func fields(list: String, expected: [String]) {
    #expect(texts(of: list) == expected)
  }

  @Test(
    "A record that breaks the rules is its first line alone, and the next line is read as ever",
    arguments: [
      ("a\"b\nc", ["1 hasStrayQuote", "c"]), ("\"a\"b\nc", ["1 hasStrayQuote", "c"]),
      ("\"a\nb", ["1 hasOpenQuote", "b"]), ("\"a\n\nb\n", ["1 hasOpenQuote", "b"]),
      ("\"a\n\"b\"\nc", ["1 hasStrayQuote", "b", "c"]),
      ("\"a\n\"b\nc\"", ["1 hasStrayQuote", "b\nc"]),
      ("\"a\nb\"c\nd", ["1 hasStrayQuote", "2 hasStrayQuote", "d"]),
      ("\"", ["1 hasOpenQuote"]), ("a,\"\nb,c", ["1 hasOpenQuote", "b|c"]),
      ("\"a\n\"b\n\"c\nd", ["1 hasStrayQuote", "2 hasStrayQuote", "3 hasOpenQuote", "d"]),
    ])
  func broken(list: String, expected: [String]) {
    #expect(texts(of: list) == expected)
  }

  @Test("Every short list gives the records of the naive rules")
  func shortLists() {
    let alphabet: [UInt8] = Array("a\",\n ".utf8)
    for length in 0...6 {
      var digits = [Int](repeating: 0, count: length)
      repeat {
        let list = digits.map { alphabet[$0] }
        let (found, expected) = (records(of: [list]), naiveRecords(of: list))
        if found != expected {
          Issue.record("\(String(decoding: list, as: UTF8.self).debugDescription): \(found)")
          return
        }
      } while advance(&digits, base: alphabet.count)
    }
  }

  @Test("Random longer lists give the records of the naive rules, in blocks of any size")
  func randomLists() {
    var random = SeededGenerator(seed: 11)
    let pieces = [
      "a", "\"", "\"", "\"\"", ",", "\n", "\r\n", "\r", " ", "\t", "#", "ü", ",\"", "\",",
    ]
    for _ in 0..<4000 {
      let list = Array(random.text(of: pieces, upTo: 30).utf8)
      let size = Int.random(in: 1...8, using: &random)
      let blocks = stride(from: 0, to: list.count, by: size).map {
        Array(list[$0..<min($0 + size, list.count)])
      }
      let (found, expected) = (records(of: blocks), naiveRecords(of: list))
      if found != expected {
        Issue.record("\(String(decoding: list, as: UTF8.self).debugDescription): \(found)")
        return
      }
    }
  }

  @Test("A quote that nobody closes costs one record of a long list, and so does an overlong field")
  func openQuoteInLongList() {
    let rest = (1...20_000).map { "http://h/\($0),\"\($0)\"\n" }.joined()
    for start in ["http://h/0,\"0\n", "\"" + String(repeating: "x", count: 70_000) + "\"\n"] {
      let found = records(of: [Array((start + rest).utf8)])
      #expect(found.count == 20_001)
      #expect(found.first?.hasPrefix("1 ") == true)
      #expect(found.last == "20001:http://h/20000|20000")
    }
  }

  @Test("A record of 64 KiB over many lines is kept, and a longer one is its first line alone")
  func longestRecord() {
    // A quote, lines of 100 bytes with their ends, a quote.
    func list(of bytes: Int) -> String {
      let lines = String(
        repeating: String(repeating: "x", count: 99) + "\n", count: bytes / 100 - 1)
      let rest = bytes - 100 * (bytes / 100 - 1) - 3
      return "\"" + lines + String(repeating: "y", count: rest) + "\"\n"
    }
    let longest = records(of: [Array(list(of: LineSplitter.longest).utf8)])
    #expect(longest.count == 1 && longest.first?.hasPrefix("1:xxx") == true)
    let tooLong = records(of: [Array(list(of: LineSplitter.longest + 1).utf8)])
    #expect(tooLong.count > 600)
    #expect(tooLong.first == "1 isTooLong")
    #expect(tooLong.dropFirst().first == "2:" + String(repeating: "x", count: 99))
  }

  @Test("Lists made to be read again and again take linear time")
  func linearTime() {
    // Each was quadratic under rules that let quotes stand anywhere; a million lines then take hours.
    for line in ["b\",\"x\n", "\"x\n", "\"\"\"x\n", "\",\n", "\",\",\n", "a,\"x\"\"\n", "\"\n"] {
      let block = Array(String(repeating: line, count: 65_536 / line.utf8.count).utf8)
      let found = records(of: [[UInt8]](repeating: block, count: 20))
      #expect(found.count > 1000)
    }
  }

  // MARK: - What records are, written as simply as possible

  private func naiveRecords(of list: [UInt8]) -> [String] {
    var lines: [String] = [""]
    for scalar in String(decoding: list, as: UTF8.self).replacing("\r\n", with: "\n").unicodeScalars
    {
      if scalar == "\n" || scalar == "\r" {
        lines.append("")
      } else {
        lines[lines.count - 1].unicodeScalars.append(scalar)
      }
    }
    var records: [String] = []
    var first = 0
    while first < lines.count {
      let start = lines[first].unicodeScalars.first { $0 != " " && $0 != "\t" }
      if start == nil || start == "#" {
        first += 1
        continue
      }
      var (count, parsed) = (1, naiveFields(of: lines[first]))
      while parsed == .open, first + count < lines.count {
        count += 1
        parsed = naiveFields(of: lines[first..<(first + count)].joined(separator: "\n"))
      }
      switch parsed {
      case .fields(let fields): records.append("\(first + 1):" + fields.joined(separator: "|"))
      case .open: records.append("\(first + 1) hasOpenQuote")
      case .broken: records.append("\(first + 1) hasStrayQuote")
      }
      if case .fields = parsed { first += count } else { first += 1 }
    }
    return records
  }

  private enum Parsed: Equatable { case fields([String]), open, broken }

  private func naiveFields(of text: String) -> Parsed {
    var rest = Array(text.unicodeScalars)[...]
    var fields: [String] = []
    let isSpace: (Unicode.Scalar) -> Bool = { $0 == " " || $0 == "\t" }
    while true {
      rest = rest.drop(while: isSpace)
      var field = String.UnicodeScalarView()
      if rest.first == "\"" {
        rest = rest.dropFirst()
        while true {
          guard let scalar = rest.popFirst() else { return .open }
          if scalar != "\"" {
            field.append(scalar)
          } else if rest.first == "\"" {
            field.append(rest.removeFirst())
          } else {
            break
          }
        }
        rest = rest.drop(while: isSpace)
        if let next = rest.first, next != "," { return .broken }
      } else {
        var raw = rest.prefix { $0 != "," }
        rest = rest.dropFirst(raw.count)
        if raw.contains("\"") { return .broken }
        while let last = raw.last, isSpace(last) { raw.removeLast() }
        field.append(contentsOf: raw)
      }
      fields.append(String(field))
      if rest.popFirst() == nil { return .fields(fields) }
    }
  }

  // MARK: -

  /// The records, with the number of the line or what is wrong with it.
  private func records(of blocks: [[UInt8]]) -> [String] {
    var splitter = LineSplitter()
    splitter.isRaw = true
    var records = CSVRecords()
    var found: [String] = []
    func note(_ record: CSVRecords.Record) {
      switch record.fields {
      case .success(let fields):
        let texts = fields.map { String(decoding: $0, as: UTF8.self) }
        found.append("\(record.line):" + texts.joined(separator: "|"))
      case .failure(let problem): found.append("\(record.line) \(problem)")
      }
    }
    for block in blocks {
      splitter.add(block)
      while let record = records.next(from: &splitter) { note(record) }
    }
    if let line = splitter.finish() { records.add(line) }
    while true {
      while let record = records.next(from: &splitter) { note(record) }
      guard let record = records.finish() else { return found }
      note(record)
    }
  }

  private func texts(of list: String) -> [String] {
    records(of: [Array(list.utf8)]).map { record in
      record.contains(":") ? String(record.drop { $0 != ":" }.dropFirst()) : record
    }
  }

  /// Counts up, and returns whether there was room for one more.
  private func advance(_ digits: inout [Int], base: Int) -> Bool {
    for index in digits.indices {
      digits[index] += 1
      if digits[index] < base { return true }
      digits[index] = 0
    }
    return false
  }
}
