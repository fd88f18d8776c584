// SPDX-License-Identifier: Apache-2.0

/// Cuts a stream of bytes into the lines of a list, holding no more than one line.
///
/// Lines end with LF, CRLF or a lone CR. A byte order mark, and white space around a line, are no
/// part of it; blank lines and lines that begin with `#` are skipped but counted.
struct LineSplitter {
  /// One line that is neither blank nor a comment.
  struct Line: Equatable {
    /// The number of the physical line, from 1.
    var number: Int
    /// The line without its ending and without white space around it.
    var bytes: [UInt8]
    /// Whether the line was longer than ``LineSplitter/longest``, and the rest of it was dropped.
    var isCut = false
  }

  /// The longest line that is kept whole, in bytes.
  static let longest = 65_536

  private var unread: ArraySlice<UInt8> = []
  private var line: [UInt8] = []
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
    while let end = unread.firstIndex(where: { $0 == lineFeed || $0 == carriageReturn }) {
      let isSecondHalf = lastWasReturn && end == unread.startIndex && unread[end] == lineFeed
      keep(unread[..<end])
      lastWasReturn = unread[end] == carriageReturn
      unread = unread[(end + 1)...]
      if isSecondHalf { continue }
      if let line = finishLine() { return line }
    }
    if !unread.isEmpty { lastWasReturn = false }
    keep(unread)
    unread = []
    return nil
  }

  /// The last line, when the stream ended without a line ending.
  mutating func finish() -> Line? { finishLine() }

  private mutating func keep(_ bytes: ArraySlice<UInt8>) {
    let room = Self.longest - line.count
    if bytes.count > room { isCut = true }
    line.append(contentsOf: bytes.prefix(room))
  }

  private mutating func finishLine() -> Line? {
    defer {
      number += 1
      line.removeAll(keepingCapacity: true)
      isCut = false
    }
    var bytes = line[...]
    if number == 1, bytes.starts(with: byteOrderMark) { bytes = bytes.dropFirst(3) }
    while let last = bytes.last, isWhiteSpace(last) { bytes.removeLast() }
    bytes = bytes.drop(while: isWhiteSpace)
    if bytes.first == UInt8(ascii: "#") || bytes.isEmpty && !isCut { return nil }
    return Line(number: number, bytes: Array(bytes), isCut: isCut)
  }
}

private let lineFeed = UInt8(ascii: "\n")
private let carriageReturn = UInt8(ascii: "\r")
private let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]

private func isWhiteSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }
