// SPDX-License-Identifier: Apache-2.0

/// Makes items of the bytes of a list, whatever its format and wherever the bytes are cut.
///
/// Holds the bytes it was given last and one record of at most 64 KiB. An item is complete with the
/// first byte of its line's end.
struct ListParser {
  private var format: ListFormat
  private var lines = LineSplitter()
  private var records = CSVRecords()
  private var columns: ListColumns?
  private var isEnding = false
  private var hasFailed = false

  init(_ format: ListFormat) {
    self.format = format
    lines.isRaw = format != .lines && format != .ndjson
  }

  /// Takes the next bytes of the list, when ``next()`` has found no more items in those before.
  mutating func add(_ bytes: [UInt8]) { lines.add(bytes) }

  /// Takes note that no more bytes will come; there may be further items in those that came.
  mutating func finish() { isEnding = true }

  /// The next item, or nil when more bytes are needed, or after the end.
  ///
  /// - Throws: When the list cannot be understood at all. There are no items then.
  mutating func next() throws(ListFormatError) -> WorkItem? {
    switch format {
    case .lines: return nextLine().map { WorkItem($0) }
    case .ndjson: return nextLine().map { WorkItem(json: $0) }
    case .tsv: return try nextOfTabs()
    case .csv: return try nextOfCommas()
    case .auto:
      while let line = nextLine() {
        if !line.isSkipped() { return try begin(with: line) }
      }
      return nil
    }
  }

  private mutating func nextLine() -> LineSplitter.Line? {
    lines.next() ?? (isEnding ? lines.finish() : nil)
  }

  /// Finds out the format by the first line.
  private mutating func begin(with line: LineSplitter.Line) throws(ListFormatError) -> WorkItem? {
    format = ListFormat(of: line)
    var line = line
    switch format {
    case .lines, .auto:
      lines.isRaw = false
      line.bytes = line.bytes.trimmed
      return WorkItem(line)
    case .ndjson:
      lines.isRaw = false
      return WorkItem(json: line)
    case .tsv:
      columns = try ListColumns(header: line.tabFields, line: line.number)
    case .csv:
      records.add(line)
    }
    return try next()
  }

  private mutating func nextOfTabs() throws(ListFormatError) -> WorkItem? {
    while !hasFailed, let line = nextLine() {
      if line.isSkipped(isTSV: true) { continue }
      if let columns {
        return line.isCut ? .tooLong(line.number) : columns.item(line: line.number, line.tabFields)
      }
      hasFailed = true
      columns = try ListColumns(header: line.tabFields, line: line.number)
      hasFailed = false
    }
    return nil
  }

  private mutating func nextOfCommas() throws(ListFormatError) -> WorkItem? {
    while !hasFailed, let record = nextRecord() {
      if let columns {
        return switch record.fields {
        case .success(let fields): columns.item(line: record.line, fields)
        case .failure(let problem): WorkItem(record.line, problem)
        }
      }
      hasFailed = true
      columns = try ListColumns(header: (try? record.fields.get()) ?? [], line: record.line)
      hasFailed = false
    }
    return nil
  }

  private mutating func nextRecord() -> CSVRecords.Record? {
    while true {
      if let record = records.next(from: &lines) { return record }
      guard isEnding else { return nil }
      guard let line = lines.finish() else {
        // What it gives back as unread may hold further records.
        return records.finish()
      }
      records.add(line)
    }
  }
}

extension WorkItem {
  /// An item in the place of a record that is too long.
  ///
  /// Nothing of it is shown, for what tells a password from a host may be in the missing rest.
  static func tooLong(_ line: Int) -> WorkItem {
    WorkItem(
      line: line, address: "",
      flaw: DownloadFailure(.badURL, "The line is longer than \(LineSplitter.longest) bytes"))
  }

  /// Makes an item of a line, with a flaw if the line cannot be an address.
  init(_ line: LineSplitter.Line) {
    if line.isCut {
      self = .tooLong(line.number)
    } else if let text = line.text {
      self.init(line: line.number, address: text)
    } else {
      let shown = String(decoding: line.bytes, as: UTF8.self)
      let problem = "The line is not text in UTF-8"
      self.init(line: line.number, address: shown, flaw: DownloadFailure(.badURL, problem))
    }
  }

  /// Makes an item in the place of a line that begins no record of a CSV list.
  fileprivate init(_ line: Int, _ problem: CSVRecords.Problem) {
    let sentence =
      switch problem {
      case .isTooLong: "The record is longer than \(LineSplitter.longest) bytes"
      case .hasStrayQuote:
        "A quote stands where none may: a field that holds one is put in quotes, with that one doubled"
      case .hasOpenQuote: "A quote is never closed"
      }
    self.init(line: line, address: "", flaw: DownloadFailure(.badURL, sentence))
  }
}

extension WorkItem {
  /// The items of lines that somebody has typed or pasted; they come from no list.
  package static func typed(_ text: [UInt8]) -> [WorkItem] {
    var parser = ListParser(.lines)
    parser.add(text)
    parser.finish()
    var items: [WorkItem] = []
    while var item = try? parser.next() {
      item.line = 0
      items.append(item)
    }
    return items
  }
}
