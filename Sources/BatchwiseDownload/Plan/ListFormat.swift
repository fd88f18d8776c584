// SPDX-License-Identifier: Apache-2.0

/// How a list is written; the raw values are the command's words.
///
/// In every format lines end with LF, CRLF or a lone CR, a byte order mark at the start is no part of
/// the list, and blank lines and lines that begin with `#` are skipped.
///
/// TSV and CSV begin with a header line that names the columns, in letters of either case. NDJSON has
/// an object a line. Their fields are `url`; `name`, for the file; `sha256` in hexadecimal digits, or
/// `checksum` as `algorithm:digits`; `size` in bytes; and `header` as `Name: value`, of which a list
/// may have several columns and an object an array. All but `url` may be missing or empty, and fields
/// of other names are ignored.
public enum ListFormat: String, Sendable, CaseIterable {
  /// Found out from the first line that is neither blank nor a comment: NDJSON if it begins with `{`,
  /// TSV or CSV if it is a header line with a column `url`, and otherwise ``lines``.
  case auto
  /// One address a line.
  case lines
  /// Fields between tabs, without quotes; white space around them is no part of them.
  case tsv
  /// Fields between commas (RFC 4180): one in quotes may hold commas, doubled quotes and line breaks.
  case csv
  /// One JSON object a line.
  case ndjson
}

extension ListFormat {
  /// The format of a list that has this line as its first.
  init(of line: LineSplitter.Line) {
    guard !line.isCut else {
      self = .lines
      return
    }
    if line.bytes.trimmed.first == UInt8(ascii: "{") {
      self = .ndjson
    } else if ListColumns.namesURL(line.tabFields) {
      self = .tsv
    } else if let record = CSVRecords.record(of: line), ListColumns.namesURL(record) {
      self = .csv
    } else {
      self = .lines
    }
  }
}

/// A list that cannot be understood at all, because of its header line.
public struct ListFormatError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The number of the header line.
  public let line: Int

  /// What is wrong and what would be right, as a sentence.
  public let description: String

  init(line: Int, _ problem: String) {
    self.line = line
    description = "Line \(line) is no header line of this list: \(problem)"
  }
}
