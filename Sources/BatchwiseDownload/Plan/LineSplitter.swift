// SPDX-License-Identifier: Apache-2.0

/// Cuts a stream of bytes into the lines of a list, holding no more than one line.
///
/// Lines end with LF, CRLF or a lone CR. A byte order mark, and white space around a line, are no
/// part of it; blank lines and lines that begin with `#` are skipped but counted.
struct LineSplitter {
  /// One line that is neither blank nor a comment, unless all lines are asked for.
  struct Line: Equatable {
    /// The number of the physical line, from 1.
    var number: Int
    /// The line without its ending and without white space around it; a part of the bytes that were
    /// added where it can be.
    var bytes: ArraySlice<UInt8>
    /// Whether the line was longer than ``LineSplitter/longest``, and the rest of it was dropped.
    var isCut = false
  }

  /// Whether lines are given as they are, blank ones and comments too, with white space around them:
  /// for formats in which white space means something.
  var isRaw = false

  /// The longest line that is kept whole, in bytes.
  static let longest = 65_536

  private var unread: ArraySlice<UInt8> = []
  /// The beginning of a line whose end is not in ``unread``.
  private var start: [UInt8] = []
  private var isCut = false
  private var number = 1
  private var lastWasReturn = false

  /// Takes the next bytes of the stream; those before them must have been read to the end.
  mutating func add(_ bytes: [UInt8]) {
    precondition(unread.isEmpty, "Lines of the bytes before are still to be read")
    unread = bytes[...]
  }

  /// The next complete line, or nil when more bytes are needed.
  ///
  /// A line counts as complete with the first byte of its ending, so that an element of a list
  /// can start as soon as its line has been written.
  mutating func next() -> Line? {
    while let end = unread.firstLineBreak {
      let rest = unread[..<end]
      let isSecondHalf = lastWasReturn && rest.isEmpty && unread[end] == lineFeed
      lastWasReturn = unread[end] == carriageReturn
      unread = unread[(end + 1)...]
      if isSecondHalf { continue }
      if start.isEmpty, rest.count <= Self.longest {
        if let line = line(of: rest) { return line }
      } else {
        keep(rest)
        if let line = finishStart() { return line }
      }
    }
    if !unread.isEmpty { lastWasReturn = false }
    keep(unread)
    unread = []
    return nil
  }

  /// The last line, when the stream ended without a line ending.
  mutating func finish() -> Line? { start.isEmpty ? nil : finishStart() }

  private mutating func keep(_ bytes: ArraySlice<UInt8>) {
    let room = Self.longest - start.count
    if bytes.count > room { isCut = true }
    start.append(contentsOf: bytes.prefix(room))
  }

  private mutating func finishStart() -> Line? {
    defer {
      start = []
      isCut = false
    }
    return line(of: start[...])
  }

  private mutating func line(of whole: ArraySlice<UInt8>) -> Line? {
    defer { number += 1 }
    var bytes = whole
    if number == 1, bytes.starts(with: byteOrderMark) { bytes = bytes.dropFirst(3) }
    if !isRaw {
      bytes = bytes.trimmed
      if bytes.first == UInt8(ascii: "#") || bytes.isEmpty && !isCut { return nil }
    }
    return Line(number: number, bytes: bytes, isCut: isCut)
  }
}

extension LineSplitter.Line {
  /// Whether the line is blank or a comment, and so no record of any list.
  ///
  /// A tab in front is a field that is empty and not white space, where `isTSV`.
  func isSkipped(isTSV: Bool = false) -> Bool {
    let rest = bytes.drop { isTSV ? $0 == 0x20 : $0.isWhiteSpace }
    return rest.first == UInt8(ascii: "#") || !isCut && rest.allSatisfy(\.isWhiteSpace)
  }

  /// The line as text, or nil if it is not in UTF-8.
  var text: String? { bytes.validText }
}

extension ArraySlice<UInt8> {
  /// The bytes without white space of ASCII around them.
  var trimmed: ArraySlice<UInt8> {
    withUnsafeBufferPointer { bytes in
      var (low, high) = (0, bytes.count)
      while high > low, bytes[high - 1].isWhiteSpace { high -= 1 }
      while low < high, bytes[low].isWhiteSpace { low += 1 }
      return self[(startIndex + low)..<(startIndex + high)]
    }
  }

  /// The bytes as text, or nil if they are not in UTF-8.
  ///
  /// Most are ASCII, which needs none of the general way's generic code.
  var validText: String? {
    let isASCII = withUnsafeBytes { $0.reduce(0, |) < 0x80 }
    return isASCII
      ? String(decoding: self, as: UTF8.self) : String(validating: self, as: UTF8.self)
  }

  /// Where the first LF or CR is.
  fileprivate var firstLineBreak: Int? {
    withUnsafeBufferPointer { bytes in
      bytes.firstIndex { $0 == lineFeed || $0 == carriageReturn }.map { startIndex + $0 }
    }
  }
}

extension UInt8 {
  /// Whether it is white space of ASCII.
  var isWhiteSpace: Bool { self == 0x20 || (0x09...0x0d).contains(self) }
}

private let lineFeed = UInt8(ascii: "\n")
private let carriageReturn = UInt8(ascii: "\r")
private let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]
