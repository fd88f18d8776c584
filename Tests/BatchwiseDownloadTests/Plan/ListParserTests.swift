// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseDownload

@Suite(.timeLimit(.minutes(1)))
struct ListParserTests {
  private static let digest = String(repeating: "0123456789abcdef", count: 4)

  // MARK: - The fields

  @Test("Every format gives the same item for the same fields")
  func sameItem() throws {
    var item = WorkItem(line: 2, address: "http://h/a?x=1")
    item.name = "a/b.png"
    item.checksum = Checksum(.sha256, hex: Self.digest)
    item.size = 12
    item.headers = try ["A: 1", "B: 2"].map { try #require(HeaderField($0)) }
    let row = ["http://h/a?x=1", "a/b.png", Self.digest.uppercased(), "12", "A: 1", "B:2"]
    let names = ["url", "name", "sha256", "size", "header", "header"]
    let json = """
      {"url":"http://h/a?x=1","name":"a/b.png","sha256":"\(row[2])","size":12,"header":["A: 1","B:2"]}
      """
    for format in [ListFormat.tsv, .auto] {
      #expect(
        try items(
          of: names.joined(separator: "\t") + "\n" + row.joined(separator: "\t"), format) == [item])
    }
    for format in [ListFormat.csv, .auto] {
      #expect(
        try items(of: names.joined(separator: ",") + "\n" + row.joined(separator: ","), format)
          == [item])
    }
    for format in [ListFormat.ndjson, .auto] {
      #expect(try items(of: "# a list\n" + json, format) == [item])
    }
  }

  @Test(
    "A checksum names its algorithm, and a size may be a number or its digits",
    arguments: [
      #""checksum":"md5:00112233445566778899AABBCCDDEEFF""#,
      #""checksum":"MD5:00112233445566778899aabbccddeeff""#,
      #""checksum":" md5:00112233445566778899aabbccddeeff ""#,
    ])
  func checksums(field: String) throws {
    let item = try #require(try items(of: #"{"url":"http://h/a","size":"7",\#(field)}"#).first)
    #expect(item.flaw == nil)
    #expect(item.checksum == Checksum(.md5, hex: "00112233445566778899aabbccddeeff"))
    #expect(item.size == 7)
  }

  @Test("Of two checksums that with the longer digest counts")
  func twoChecksums() throws {
    let short = "md5:00112233445566778899aabbccddeeff"
    let long = "sha512:" + Self.digest + Self.digest
    let list =
      "url,sha256,checksum\nhttp://h/1,\(Self.digest),\(short)\nhttp://h/2,\(Self.digest),\(long)"
    let found = try items(of: list)
    #expect(found.map(\.checksum?.algorithm) == [.sha256, .sha512])
    #expect(found.allSatisfy { $0.flaw == nil })
  }

  @Test(
    "A field that is wrong makes a flaw that says which and what would be right",
    arguments: [
      (#""sha256":"12""#, DownloadFailure.Reason.checksum, "sha256"),
      (#""sha256":12"#, .checksum, "sha256"), (#""checksum":"abc""#, .checksum, "algorithm"),
      (#""checksum":"crc32:00112233""#, .checksum, "md5"),
      (#""checksum":"md5:0011""#, .checksum, "checksum"), (#""size":"-1""#, .size, "size"),
      (#""size":-1"#, .size, "size"), (#""size":"1k""#, .size, "size"),
      (#""size":1.5"#, .size, "size"), (#""size":"+5""#, .size, "size"),
      (#""size":99999999999999999999"#, .size, "size"), (#""size":true"#, .size, "size"),
      (#""size":"٣""#, .size, "size"), (#""name":7"#, .name, "name"),
      (#""name":["a"]"#, .name, "name"), (#""header":"no colon""#, .badURL, "header"),
      (#""header":["A: 1","B"]"#, .badURL, "header"), (#""header":{"A":"1"}"#, .badURL, "header"),
      (#""header":"A b: 1""#, .badURL, "header"), (#""header":"A: 1\r\nB: 2""#, .badURL, "header"),
    ])
  func badFields(field: String, reason: DownloadFailure.Reason, word: String) throws {
    let item = try #require(try items(of: #"{"url":"http://h/a",\#(field)}"#).first)
    #expect(item.flaw?.reason == reason)
    #expect(item.flaw?.message.contains(word) == true)
    #expect(item.address == "http://h/a", "The item is still told apart from others")
  }

  @Test("Fields that are missing, empty or null are none, and others are ignored")
  func missingFields() throws {
    let plain = WorkItem(line: 2, address: "http://h/a")
    #expect(try items(of: "url\tname\tsize\tsha256\theader\tx\nhttp://h/a\t\t\t\t\tx\n") == [plain])
    #expect(try items(of: "url,name,size\nhttp://h/a,\"\",\n") == [plain])
    #expect(try items(of: "url,name,size\nhttp://h/a\n") == [plain])
    let json =
      #"{"url":"http://h/a","name":null,"size":null,"sha256":"","header":[],"x":{"y":[1]}}"#
    #expect(try items(of: "\n" + json) == [plain])
    #expect(try items(of: "\n" + #"{"url":"http://h/a","header":[""]}"#) == [plain])
  }

  @Test("A record without an address, or that is no record, is one bad item among good ones")
  func badRecords() throws {
    let good = ["http://h/1", "http://h/2"].map { #"{"url":"\#($0)"}"# }
    for bad in [
      "{}", #"{"url":""}"#, #"{"url":null}"#, #"{"url":7}"#, "[]", "7", "null", "{", #"{"url":"#,
      #"{"url":"http://h/"}}"#, #"{"url":"\ud800"}"#, "http://h/",
      String(repeating: "[", count: 60_000),
      "{\"url\":" + String(repeating: "{\"a\":", count: 10_000),
    ] {
      let found = try items(of: [good[0], bad, good[1]].joined(separator: "\n"))
      #expect(found.map(\.line) == [1, 2, 3], "\(bad)")
      #expect(found.map(\.flaw?.reason) == [nil, .badURL, nil], "\(bad)")
    }
    let rows = try items(of: "name\turl\na\thttp://h/1\nb\t\nc\nd\thttp://h/2\n")
    #expect(rows.map(\.flaw?.reason) == [nil, .badURL, .badURL, nil])
  }

  @Test("More fields than columns are a flaw, for an address may have been cut at a comma")
  func cutAddress() throws {
    for (list, isFlawed) in [
      ("url,name\nhttp://h/a,b.png,x.png", true), ("url\thttp\nhttp://h/a\tb\tc", true),
      ("url,name\nhttp://h/a,x.png,,", false), ("url,name\n\"http://h/a,b.png\",x.png", false),
    ] {
      let found = try items(of: list)
      #expect(found.map { $0.flaw != nil } == [isFlawed], "\(list)")
    }
  }

  // MARK: - Header lines

  @Test(
    "Columns may come in any order, with white space and in letters of either case",
    arguments: [
      "name,URL\na,http://h/1", " name , Url \n a , http://h/1 ",
      "\"name\",\"url\"\n\"a\",\"http://h/1\"",
      "x,name,y,url\n,a,,http://h/1", "name\turl\na\thttp://h/1", "\tname\turl\n\ta\thttp://h/1",
      "# c\n\n\u{20}\nname,url\r\n\r\n# c\r\na,http://h/1", "\u{FEFF}name,url\na,http://h/1",
      "\u{FEFF}name\turl\r\ra\thttp://h/1", "url\tname\nhttp://h/1\ta\t\n\t\t\n",
    ])
  func columns(list: String) throws {
    let found = try items(of: list)
    #expect(found.map(\.address) == ["http://h/1"])
    #expect(found.map(\.name) == ["a"])
    #expect(found.map(\.flaw) == [nil])
  }

  @Test(
    "A header line without url, or that names one column twice, ends the list with an error, once",
    arguments: [
      (ListFormat.tsv, "address\tname\nhttp://h/1\ta\n", 1),
      (.csv, "# c\naddress,name\nhttp://h/1,a\n", 2), (.csv, "http://h/1\nhttp://h/2\n", 1),
      (.csv, "\"url\nhttp://h/1", 1), (.auto, "url,url\nhttp://h/1,http://h/2", 1),
      (.tsv, "url\tname\tNAME\n", 1), (.tsv, "url,name\nhttp://h/1,a", 1),
      (.tsv, String(repeating: "x", count: 70_000) + "\n", 1),
    ])
  func badHeader(format: ListFormat, list: String, line: Int) throws {
    var parser = ListParser(format)
    parser.add(Array(list.utf8))
    var error: ListFormatError?
    // Once the list has ended, if its first record has not.
    for _ in 0..<2 where error == nil {
      do throws(ListFormatError) { _ = try parser.next() } catch let thrown { error = thrown }
      parser.finish()
    }
    #expect(error?.line == line)
    #expect(error?.description.hasPrefix("Line \(line) ") == true)
    #expect(try parser.next() == nil)
  }

  @Test("An empty list, or one of comments alone, is no error in any format")
  func emptyLists() throws {
    for format in ListFormat.allCases {
      for list in ["", "\n", "# c\n", "\u{FEFF}", "\u{FEFF}\r\n# c"] {
        #expect(try items(of: list, format) == [])
      }
    }
    #expect(try items(of: "url,name\n", .csv) == [])
  }

  // MARK: - auto

  @Test(
    "The format is found out by the first line that is neither blank nor a comment",
    arguments: [
      ("http://h/a,b\n", ListFormat.lines), ("http://h/a\tb\n", .lines), ("curl,x\n", .lines),
      ("url\n", .tsv), ("name\turl", .tsv), ("URL,name\n", .csv), ("\"url\"\n", .csv),
      ("{}", .ndjson), ("  {", .ndjson), ("[{\"url\":1}]", .lines), ("a\"b,url", .lines),
      ("url name", .lines), ("\u{0}", .lines), ("url\t,x", .tsv),
    ])
  func detection(line: String, format: ListFormat) {
    var splitter = LineSplitter()
    splitter.isRaw = true
    splitter.add(Array(line.utf8))
    guard let first = splitter.next() ?? splitter.finish() else { return }
    #expect(ListFormat(of: first) == format)
  }

  @Test("A list of lines is read the same way when its format is found out")
  func detectedLines() throws {
    var random = SeededGenerator(seed: 12)
    let pieces = [
      "\u{FEFF}", "http://h/a", "ü", " ", "\t", "#", "\n", "\r", "\r\n", "\u{0B}", ",", "\"", "x",
    ]
    for _ in 0..<3000 {
      let list = random.text(of: pieces, upTo: 12)
      let size = Int.random(in: 1...5, using: &random)
      #expect(
        try items(of: list, by: size) == items(of: list, .lines), "\(list.debugDescription)")
    }
  }

  // MARK: - Wherever the bytes are cut

  @Test("Random lists of every format give the items they were made of, in blocks of any size")
  func roundTrips() throws {
    var random = SeededGenerator(seed: 13)
    for _ in 0..<1500 {
      let expected = try (0..<Int.random(in: 1...5, using: &random)).map { _ in
        try randomItem(using: &random)
      }
      let format = [ListFormat.tsv, .csv, .ndjson].randomElement(using: &random) ?? .csv
      let (list, lines) = written(expected, as: format, using: &random)
      let size = [1, 2, 3, 7, 64, 100_000].randomElement(using: &random) ?? 1
      for format in [format, .auto] {
        let found = try items(of: list, format, by: size)
        #expect(found.map(\.line) == lines, "\(list.debugDescription)")
        let same = found.count == expected.count && zip(found, expected).allSatisfy(isSame)
        #expect(same, "\(list.debugDescription) gives \(found)")
      }
    }
  }

  @Test("What is written as a line of a list is read as the same item")
  func listLines() throws {
    var random = SeededGenerator(seed: 14)
    for _ in 0..<2000 {
      let item = try randomItem(using: &random)
      let line = item.listLine
      #expect(!line.utf8.contains(0x0a) && !line.utf8.contains(0x0d))
      let found = try items(of: line)
      #expect(found.count == 1)
      #expect(found.first.map { isSame($0, item) } == true, "\(line)")
    }
    #expect(WorkItem(line: 7, address: "http://u:p@h/a").listLine == #"{"url":"http://u:p@h/a"}"#)
  }

  @Test("A record that is too long, or no text, is one bad item, in every format")
  func hardRecords() throws {
    let header: [ListFormat: String] = [.tsv: "url\tname\n", .csv: "url,name\n"]
    for format in ListFormat.allCases where format != .auto {
      let good = format == .ndjson ? #"{"url":"http://h/a"}"# : "http://h/a"
      for bad in [Array(repeating: UInt8(ascii: "x"), count: 100_000), [0x68, 0xff, 0xfe]] {
        let list =
          Array(((header[format] ?? "") + good + "\n").utf8) + bad + Array("\n\(good)".utf8)
        for size in [1000, 200_000] {
          let found = try items(of: list, format, by: size)
          #expect(found.map(\.flaw?.reason) == [nil, .badURL, nil], "\(format)")
          #expect(found.last?.address == "http://h/a")
        }
      }
    }
  }

  @Test("An item is there as soon as its line is complete, whatever the format")
  func atOnce() throws {
    for (start, line) in [
      ("", "http://h/1\n"), ("", "http://h/1\r"), ("url\tname\n", "http://h/1\tx\n"),
      ("url,name\r\n", "http://h/1,\"a\nb\"\r"), ("", "{\"url\":\"http://h/1\"}\n"),
    ] {
      var parser = ListParser(.auto)
      for byte in (start + line).utf8.dropLast() {
        parser.add([byte])
        #expect(try parser.next() == nil)
      }
      parser.add(Array(line.utf8.suffix(1)))
      #expect(try parser.next()?.address == "http://h/1", "\(line.debugDescription)")
    }
  }

  @Test("No message of a bad record holds any part of it that may be a secret")
  func secrets() throws {
    var random = SeededGenerator(seed: 15)
    let pieces = [
      "SECRET", "\"", ",", "\t", "{", "}", ":", "[", "\\", " ", "A: ", "\"url\":", "\"header\":",
      "http://h/", "\"size\":", "\"checksum\":", "\u{0}", "\r\n", "ü",
    ]
    for _ in 0..<5000 {
      let list = random.text(of: pieces, upTo: 14)
      for (format, header) in [
        (ListFormat.ndjson, ""), (.tsv, "header\turl\tsize\tsha256\n"),
        (.csv, "header,url,checksum\n"),
      ] {
        for item in try items(of: header + list, format) {
          #expect(item.flaw?.message.contains("SECRET") != true, "\(list.debugDescription)")
          if format == .ndjson, item.flaw != nil, item.address.contains("SECRET") {
            #expect(list.contains("\"url\":"))
          }
        }
      }
    }
  }

  // MARK: -

  private func items(
    of list: String, _ format: ListFormat = .auto, by size: Int = 100_000
  ) throws -> [WorkItem] {
    try items(of: Array(list.utf8), format, by: size)
  }

  private func items(of list: [UInt8], _ format: ListFormat, by size: Int) throws -> [WorkItem] {
    var parser = ListParser(format)
    var items: [WorkItem] = []
    for start in stride(from: 0, to: list.count, by: size) {
      parser.add(Array(list[start..<min(start + size, list.count)]))
      while let item = try parser.next() { items.append(item) }
    }
    parser.finish()
    while let item = try parser.next() { items.append(item) }
    #expect(try parser.next() == nil)
    return items
  }

  /// Whether all but the line is the same byte for byte.
  private func isSame(_ one: WorkItem, _ other: WorkItem) -> Bool {
    func bytes(_ item: WorkItem) -> [[UInt8]] {
      [Array(item.address.utf8), Array((item.name ?? "-").utf8)]
        + item.headers.map { Array($0.line.utf8) }
    }
    return bytes(one) == bytes(other) && one.checksum == other.checksum && one.size == other.size
      && one.flaw == other.flaw
  }

  private func randomItem(using random: inout SeededGenerator) throws -> WorkItem {
    let pieces = ["a", "\"", "\\", "ü", "e\u{301}", "😀", "/", "{", "}", "'", "&", "<", "%", "b c"]
    func text() -> String { random.text(of: pieces, upTo: 6) }
    var item = WorkItem(address: "http://h/" + text() + "x")
    if Bool.random(using: &random) { item.name = "n" + text() + "x" }
    if Bool.random(using: &random) { item.size = Int64.random(in: 0...Int64.max, using: &random) }
    if let algorithm = Checksum.Algorithm.allCases.randomElement(using: &random),
      Bool.random(using: &random)
    {
      item.checksum = Checksum(
        algorithm,
        bytes: (0..<algorithm.length).map { _ in UInt8.random(in: 0...255, using: &random) })
    }
    for _ in 0..<Int.random(in: 0...2, using: &random) {
      item.headers.append(try #require(HeaderField("X-\(item.headers.count): v" + text() + "x")))
    }
    return item
  }

  /// The items as a list of the format, and the lines that they begin in.
  private func written(
    _ items: [WorkItem], as format: ListFormat, using random: inout SeededGenerator
  ) -> (list: String, lines: [Int]) {
    var list = ""
    var (line, lines) = (1, [Int]())
    let ending = ["\n", "\r\n", "\r"].randomElement(using: &random) ?? "\n"
    func end() {
      list += ending
      line += 1
    }
    func write(_ fields: [String]) {
      if format == .tsv {
        list += fields.joined(separator: "\t")
      } else {
        list += fields.map { field in
          let isQuoted = field.contains { "\",".contains($0) } || Bool.random(using: &random)
          return isQuoted ? "\"" + field.replacing("\"", with: "\"\"") + "\"" : field
        }.joined(separator: ",")
      }
      end()
    }
    if format != .ndjson { write(["x", "url", "name", "checksum", "size", "header", "header"]) }
    for item in items {
      while Int.random(in: 0..<4, using: &random) == 0 {
        list += ["", "# url,x", "  "].randomElement(using: &random) ?? ""
        end()
      }
      lines.append(line)
      if format == .ndjson {
        list += item.listLine
        end()
      } else {
        let checksum = item.checksum.map { "\($0.algorithm.rawValue):\($0.hex)" } ?? ""
        let headers = item.headers.map(\.line) + ["", ""]
        var x = "x"
        if format == .csv, Bool.random(using: &random) { x = "x,\ny" }
        write(
          [x, item.address, item.name ?? "", checksum, item.size.map { "\($0)" } ?? ""]
            + headers.prefix(2))
        if x.contains("\n") { line += 1 }
      }
    }
    return (list, lines)
  }
}
