// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseDownload

@Suite(.timeLimit(.minutes(1)))
struct LineSplitterTests {
  @Test("Every way of cutting a list into blocks gives the lines of the whole list")
  func blockBorders() {
    let alphabet: [UInt8] = Array("a\n\r #".utf8)
    for length in 0...5 {
      for number in 0..<power(alphabet.count, length) {
        let list = digits(of: number, base: alphabet.count, count: length).map { alphabet[$0] }
        let expected = naiveLines(of: list)
        for cuts in 0..<power(2, max(length - 1, 0)) {
          let found = lines(of: blocks(of: list, cuts: cuts))
          if found != expected {
            Issue.record("\(list) cut by \(cuts): \(found), not \(expected)")
            return
          }
        }
      }
    }
  }

  @Test("Random lists with marks, comments and white space are cut alike in all block sizes")
  func randomLists() {
    var random = SeededGenerator(seed: 1)
    let words = ["\u{FEFF}", "http://h/a", "\u{FC}", " ", "\t", "#", "\n", "\r", "\r\n", "\u{0B}"]
    for _ in 0..<3000 {
      let list = Array(random.text(of: words, upTo: 12).utf8)
      let expected = naiveLines(of: list)
      for size in 1...4 {
        #expect(lines(of: blocks(of: list, size: size)) == expected, "\(list) by \(size)")
      }
    }
  }

  @Test(
    "All line endings end a line, and the last line needs none",
    arguments: ["a\nb\nc\n", "a\r\nb\r\nc", "a\rb\rc\r", "a\nb\r\nc\r", "a\r\nb\rc\n", "a\rb\nc"])
  func lineEndings(list: String) {
    #expect(texts(of: list) == ["1:a", "2:b", "3:c"])
  }

  @Test(
    "A byte order mark is no part of the first line, whatever that line is",
    arguments: [("a\nb", ["1:a", "2:b"]), ("# c\nb", ["2:b"]), ("\nb", ["2:b"]), ("", [])])
  func byteOrderMark(list: String, expected: [String]) {
    #expect(texts(of: list) == expected)
    #expect(texts(of: "\u{FEFF}" + list) == expected)
    #expect(texts(of: "\u{FEFF} \t" + list) == expected)
  }

  @Test("A byte order mark in a later line is kept, because it is then part of the text")
  func laterByteOrderMark() {
    #expect(texts(of: "a\n\u{FEFF}b") == ["1:a", "2:\u{FEFF}b"])
  }

  @Test("White space around a line is cut off, and within it is kept")
  func whiteSpace() {
    #expect(texts(of: " \t a b\u{0B}\u{0C} \n\t\n  \r\n c") == ["1:a b", "4:c"])
  }

  @Test("Blank lines and comments are counted and skipped; a # within a line begins no comment")
  func comments() {
    #expect(texts(of: "\n# x\n  # y\na#b\n#\nc") == ["4:a#b", "6:c"])
  }

  @Test("A line of just the longest length is kept whole, and with one byte more it is cut")
  func longestLine() {
    let longest = [UInt8](repeating: 0x61, count: LineSplitter.longest)
    for ending in ["", "\n", "\r\n"] {
      let list = longest + Array(ending.utf8)
      #expect(lines(of: [list]) == [.init(number: 1, bytes: longest[...])])
      #expect(lines(of: [[0x61] + list]) == [.init(number: 1, bytes: longest[...], isCut: true)])
    }
  }

  @Test("A line that is too long is one bad line among good ones, however it arrives")
  func overlongLine() {
    let long = [UInt8](repeating: 0x61, count: 100_000)
    let list = Array("x\n".utf8) + long + Array("\r\ny\n".utf8)
    for size in [1000, 65_536, 200_000] {
      let found = lines(of: blocks(of: list, size: size))
      #expect(found.map(\.number) == [1, 2, 3])
      #expect(found.map(\.isCut) == [false, true, false])
      #expect(found.last?.bytes == ArraySlice("y".utf8))
    }
  }

  @Test("An overlong line that begins as a blank one is reported, and an overlong comment is not")
  func overlongBlank() {
    let blank = [UInt8](repeating: 0x20, count: 70_000)
    #expect(lines(of: [blank + Array("a\n".utf8)]).map(\.isCut) == [true])
    #expect(lines(of: [Array("#".utf8) + blank + Array("\na".utf8)]).map(\.number) == [2])
  }

  @Test("A line without end is held to the longest length")
  func endlessLine() {
    var splitter = LineSplitter()
    for _ in 0..<100 {
      splitter.add([UInt8](repeating: 0x61, count: 65_536))
      #expect(splitter.next() == nil)
    }
    let line = splitter.finish()
    #expect(line?.bytes.count == LineSplitter.longest)
    #expect(line?.isCut == true)
  }

  // MARK: - What a list is, written as simply as possible

  private func naiveLines(of list: [UInt8]) -> [LineSplitter.Line] {
    var physical: [[UInt8]] = [[]]
    var index = 0
    while index < list.count {
      if list[index] == 0x0d || list[index] == 0x0a {
        if list[index] == 0x0d, index + 1 < list.count, list[index + 1] == 0x0a { index += 1 }
        physical.append([])
      } else {
        physical[physical.count - 1].append(list[index])
      }
      index += 1
    }
    return physical.enumerated().compactMap { offset, line in
      var bytes = line
      if offset == 0, bytes.prefix(3) == [0xef, 0xbb, 0xbf] { bytes.removeFirst(3) }
      let isWhite: (UInt8) -> Bool = { [0x20, 0x09, 0x0b, 0x0c].contains($0) }
      while let last = bytes.last, isWhite(last) { bytes.removeLast() }
      while let first = bytes.first, isWhite(first) { bytes.removeFirst() }
      return bytes.isEmpty || bytes[0] == 0x23 ? nil : .init(number: offset + 1, bytes: bytes[...])
    }
  }

  private func lines(of blocks: [[UInt8]]) -> [LineSplitter.Line] {
    var splitter = LineSplitter()
    var lines: [LineSplitter.Line] = []
    for block in blocks {
      splitter.add(block)
      while let line = splitter.next() { lines.append(line) }
    }
    return lines + (splitter.finish().map { [$0] } ?? [])
  }

  private func texts(of list: String) -> [String] {
    lines(of: [Array(list.utf8)]).map {
      "\($0.number):\(String(decoding: $0.bytes, as: UTF8.self))"
    }
  }

  /// Cuts a list before its byte `n + 1` where the bit `n` is set.
  private func blocks(of list: [UInt8], cuts: Int) -> [[UInt8]] {
    var blocks: [[UInt8]] = [[]]
    for (offset, byte) in list.enumerated() {
      if offset > 0, cuts >> (offset - 1) & 1 == 1 { blocks.append([]) }
      blocks[blocks.count - 1].append(byte)
    }
    return blocks
  }

  private func blocks(of list: [UInt8], size: Int) -> [[UInt8]] {
    stride(from: 0, to: list.count, by: size).map { Array(list[$0..<min($0 + size, list.count)]) }
  }

  private func digits(of number: Int, base: Int, count: Int) -> [Int] {
    (0..<count).map { number / power(base, $0) % base }
  }

  private func power(_ base: Int, _ exponent: Int) -> Int {
    (0..<exponent).reduce(1) { product, _ in product * base }
  }
}
