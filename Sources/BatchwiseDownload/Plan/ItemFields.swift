// SPDX-License-Identifier: Apache-2.0

/// The fields of one record of a list as texts, on their way to a ``WorkItem``.
struct ItemFields {
  /// The fields that a list may have; the raw values are their names in it.
  enum Field: String, CaseIterable {
    case url, name, sha256, checksum, size, header
  }

  private var address = ""
  private var name: String?
  private var sha256: String?
  private var checksum: String?
  private var size: String?
  private var headers: [HeaderField] = []
  private var flaw: DownloadFailure?

  /// Takes the text of a field; an empty one is none, except that a name cannot be empty.
  mutating func set(_ field: Field, to text: String) {
    if text.isEmpty, field != .name { return }
    switch field {
    case .url: address = String(Substring(text.utf8.trimmed))
    case .name: name = text
    case .sha256: sha256 = text
    case .checksum: checksum = text
    case .size: size = text
    case .header:
      guard let header = HeaderField(text) else {
        // Not shown, for it may be a secret.
        return note(.header, "The field header is no “Name: value” that HTTP can carry")
      }
      headers.append(header)
    }
  }

  /// Notes what is wrong with a field, unless something was wrong before.
  mutating func note(_ field: Field, _ problem: String) {
    guard flaw == nil else { return }
    let reason: DownloadFailure.Reason =
      switch field {
      // The set of reasons has no word for a header.
      case .url, .header: .badURL
      case .name: .name
      case .sha256, .checksum: .checksum
      case .size: .size
      }
    flaw = DownloadFailure(reason, problem)
  }

  /// The item, with a flaw if one of the fields has one or the address is missing.
  func item(line: Int) -> WorkItem {
    var fields = self
    let checksum = fields.readChecksum()
    let size = fields.readSize()
    if address.isEmpty { fields.note(.url, "The record has no url") }
    var item = WorkItem(line: line, address: address, flaw: fields.flaw)
    item.name = name
    item.checksum = checksum
    item.size = size
    item.headers = headers
    return item
  }

  /// The checksum of either field; of two, that with the longer digest.
  private mutating func readChecksum() -> Checksum? {
    var found: Checksum?
    if let sha256 {
      found = Checksum(.sha256, hex: sha256.utf8.trimmed)
      if found == nil { note(.sha256, "The field sha256 is not 64 hexadecimal digits") }
    }
    guard let checksum else { return found }
    let parts = checksum.utf8.trimmed.split(
      separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let algorithm = Checksum.Algorithm(rawValue: parts[0].lowercased()),
      let other = Checksum(algorithm, hex: parts[1])
    else {
      note(
        .checksum,
        "The field checksum is no “algorithm:digits” with md5, sha1, sha256 or sha512 and as many "
          + "hexadecimal digits as that has")
      return found
    }
    guard let first = found else { return other }
    if other.algorithm == first.algorithm, other != first {
      note(.checksum, "The fields sha256 and checksum contradict each other")
    }
    return other.algorithm.length > first.algorithm.length ? other : first
  }

  private mutating func readSize() -> Int64? {
    guard let size else { return nil }
    let digits = size.utf8.trimmed
    guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      let number = Int64(digits)
    else {
      note(.size, "The field size is no number of bytes")
      return nil
    }
    return number
  }
}

extension String.UTF8View {
  /// The text without white space of ASCII around it.
  fileprivate var trimmed: Substring {
    var rest = self[...]
    while let last = rest.last, last.isWhiteSpace { rest.removeLast() }
    return Substring(rest.drop(while: \.isWhiteSpace))
  }
}
