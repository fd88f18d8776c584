// SPDX-License-Identifier: Apache-2.0

/// What the header line of a TSV or CSV list says of its columns.
struct ListColumns {
  private let fields: [ItemFields.Field?]

  /// Reads a header line.
  ///
  /// - Throws: When it names no column `url`, or one of the columns that an item has one of twice.
  init(header: [ArraySlice<UInt8>], line: Int) throws(ListFormatError) {
    fields = header.map(Self.field)
    guard fields.contains(.url) else {
      throw ListFormatError(line: line, "it names the columns, and none of them is url")
    }
    for field in ItemFields.Field.allCases where field != .header {
      guard fields.count(where: { $0 == field }) < 2 else {
        throw ListFormatError(line: line, "it names the column \(field.rawValue) twice")
      }
    }
  }

  /// Whether one of these is the name of the column that a list cannot do without.
  static func namesURL(_ header: [ArraySlice<UInt8>]) -> Bool {
    header.contains { field(named: $0) == .url }
  }

  /// Makes an item of one row.
  func item(line: Int, _ row: [ArraySlice<UInt8>]) -> WorkItem {
    // Cut at a comma or a tab that belongs to it, an address would be another one.
    if row.count > fields.count, !row[fields.count...].allSatisfy(\.isEmpty) {
      return WorkItem(
        line: line, address: "",
        flaw: DownloadFailure(
          .badURL,
          "The line has \(row.count) fields, and the header line names \(fields.count) columns"))
    }
    var item = ItemFields()
    for (field, bytes) in zip(fields, row) {
      guard let field, !bytes.isEmpty else { continue }
      guard let text = bytes.validText else {
        item.note(field, "The field \(field.rawValue) is not text in UTF-8")
        continue
      }
      item.set(field, to: text)
    }
    return item.item(line: line)
  }

  private static func field(named name: ArraySlice<UInt8>) -> ItemFields.Field? {
    ItemFields.Field(rawValue: String(decoding: name, as: UTF8.self).lowercased())
  }
}

extension LineSplitter.Line {
  /// The fields between the tabs of the line, without white space around them.
  var tabFields: [ArraySlice<UInt8>] {
    bytes.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map(\.trimmed)
  }
}
