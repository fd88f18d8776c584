// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension WorkItem {
  /// Makes an item of a line of an NDJSON list.
  init(json line: LineSplitter.Line) {
    guard !line.isCut else {
      self = .tooLong(line.number)
      return
    }
    do {
      let fields = try Self.decoder.decode(JSONFields.self, from: Data(line.bytes)).fields
      self = fields.item(line: line.number)
    } catch {
      // Nothing of it is shown, for it may hold a secret.
      self.init(
        line: line.number, address: "",
        flaw: DownloadFailure(.badURL, "The line is no JSON object"))
    }
  }

  /// The item as a line of an NDJSON list, without the line's end: what a reader of that format makes
  /// the same item of, but for the number of the line.
  ///
  /// It holds what the list held, passwords in addresses and values of headers too. An item with a flaw
  /// is written without it.
  public var listLine: String {
    let line = JSONLine(
      url: address, name: name, checksum: checksum.map { "\($0.algorithm.rawValue):\($0.hex)" },
      size: size, header: headers.isEmpty ? nil : headers.map(\.line))
    guard let data = try? Self.encoder.encode(line) else {
      preconditionFailure("Texts and numbers can be written as JSON")
    }
    return String(decoding: data, as: UTF8.self)
  }

  private static let decoder = JSONDecoder()
  private static let encoder = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }()
}

private struct JSONLine: Encodable {
  var url: String
  var name: String?
  var checksum: String?
  var size: Int64?
  var header: [String]?
}

/// Reads each field for itself, so that what is wrong with one hides no other.
private struct JSONFields: Decodable {
  var fields = ItemFields()

  private struct Key: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(_ field: ItemFields.Field) { stringValue = field.rawValue }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  init(from decoder: any Decoder) throws {
    let object = try decoder.container(keyedBy: Key.self)
    for field in ItemFields.Field.allCases {
      let key = Key(field)
      guard object.contains(key), (try? object.decodeNil(forKey: key)) != true else { continue }
      if let text = try? object.decode(String.self, forKey: key) {
        fields.set(field, to: text)
      } else if field == .size, let number = try? object.decode(Int64.self, forKey: key) {
        fields.set(field, to: String(number))
      } else if field == .header, let lines = try? object.decode([String].self, forKey: key) {
        for line in lines { fields.set(field, to: line) }
      } else {
        let right =
          field == .size ? "number" : field == .header ? "text and no array of them" : "text"
        fields.note(field, "The field \(field.rawValue) is no \(right)")
      }
    }
  }
}
