// SPDX-License-Identifier: Apache-2.0

/// Joins the lines of a CSV list into records (RFC 4180), for a field in quotes may hold line breaks.
///
/// The rules for quotes are kept strictly, but white space beside a quoted field is let pass, and white
/// space around one without quotes is no part of it. A record that breaks the rules, or is longer than
/// 64 KiB, is its first line alone, and reading goes on with the line after that: a quote that nobody
/// closes costs one item and not the rest of the list. Since each quote opens or closes something, no
/// line can be within quotes both times it is read, so all of it takes linear time.
struct CSVRecords {
  /// One record, or what is wrong with its first line.
  struct Record {
    /// The number of the line it begins in.
    var line: Int
    var fields: Result<[ArraySlice<UInt8>], Problem>
  }

  /// Why a line begins no record.
  enum Problem: Error {
    case isTooLong, hasStrayQuote, hasOpenQuote
  }

  /// Where in a record the next byte stands.
  private enum Place {
    case fieldStart, unquoted, quoted, behindQuote, behindField
  }

  private var place = Place.fieldStart
  /// The fields so far, one behind the other, and where each of them ends.
  private var text: [UInt8] = []
  private var ends: [Int] = []
  /// The lines of a record that is open, and how long they are.
  private var lines: [LineSplitter.Line] = []
  private var length = 0
  /// Lines that have to be read a second time, the last one first.
  private var again: [LineSplitter.Line] = []

  /// Puts a line before those that are still to be read.
  mutating func add(_ line: LineSplitter.Line) { again.append(line) }

  /// The next complete record, or nil when more lines are needed.
  mutating func next(from splitter: inout LineSplitter) -> Record? {
    while let line = again.popLast() ?? splitter.next() {
      if let record = take(line) { return record }
    }
    return nil
  }

  /// The record that is still open when there are no more lines; there may be further ones after it.
  mutating func finish() -> Record? {
    lines.isEmpty ? nil : breakOff(.hasOpenQuote)
  }

  /// The fields of a line that is a whole record.
  static func record(of line: LineSplitter.Line) -> [ArraySlice<UInt8>]? {
    var records = CSVRecords()
    return try? records.take(line)?.fields.get()
  }

  // MARK: -

  private mutating func take(_ line: LineSplitter.Line) -> Record? {
    if lines.isEmpty, line.isSkipped() { return nil }
    length += line.bytes.count + 1
    if place != .quoted, !line.isCut {
      // Most records are one line, which need not be kept.
      guard let problem = read(line.bytes) else { return end(at: line) }
      lines = [line.copied]
      return breakOff(problem)
    }
    lines.append(line.copied)
    guard !line.isCut, length <= LineSplitter.longest else { return breakOff(.isTooLong) }
    if let problem = read(line.bytes) { return breakOff(problem) }
    return end(at: line)
  }

  /// Reads one line, and returns what is wrong with it.
  private mutating func read(_ bytes: ArraySlice<UInt8>) -> Problem? {
    for byte in bytes {
      switch (place, byte) {
      case (.fieldStart, quote): place = .quoted
      case (.fieldStart, 0x20), (.fieldStart, 0x09): break
      case (.unquoted, comma), (.fieldStart, comma), (.behindQuote, comma), (.behindField, comma):
        endField()
      case (.unquoted, quote): return .hasStrayQuote
      case (.quoted, quote): place = .behindQuote
      case (.behindQuote, quote):
        text.append(quote)
        place = .quoted
      case (.behindQuote, 0x20), (.behindQuote, 0x09), (.behindField, 0x20), (.behindField, 0x09):
        place = .behindField
      case (.behindQuote, _), (.behindField, _): return .hasStrayQuote
      case (.fieldStart, _), (.unquoted, _):
        text.append(byte)
        place = .unquoted
      case (.quoted, _): text.append(byte)
      }
    }
    return nil
  }

  private mutating func endField() {
    if place == .unquoted {
      while text.count > ends.last ?? 0, text.last == 0x20 || text.last == 0x09 {
        text.removeLast()
      }
    }
    ends.append(text.count)
    place = .fieldStart
  }

  /// The line has ended, and with it the record unless a quote is open.
  private mutating func end(at line: LineSplitter.Line) -> Record? {
    if place == .quoted {
      if lines.isEmpty { lines = [line.copied] }
      text.append(UInt8(ascii: "\n"))
      return nil
    }
    endField()
    var fields: [ArraySlice<UInt8>] = []
    fields.reserveCapacity(ends.count)
    var start = 0
    for end in ends {
      fields.append(text[start..<end])
      start = end
    }
    let record = Record(line: lines.first?.number ?? line.number, fields: .success(fields))
    reset()
    return record
  }

  /// Takes the first line for a record that is none, and the others as if they had not been read.
  private mutating func breakOff(_ problem: Problem) -> Record {
    let record = Record(
      line: lines[0].number, fields: .failure(lines[0].isCut ? .isTooLong : problem))
    again += lines.dropFirst().reversed()
    reset()
    return record
  }

  private mutating func reset() {
    place = .fieldStart
    text = []
    ends.removeAll(keepingCapacity: true)
    lines = []
    length = 0
  }
}

extension LineSplitter.Line {
  /// The line with bytes of its own, so that it does not keep all those it came with.
  fileprivate var copied: Self {
    Self(number: number, bytes: Array(bytes)[...], isCut: isCut)
  }
}

private let quote = UInt8(ascii: "\"")
private let comma = UInt8(ascii: ",")
