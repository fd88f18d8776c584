// SPDX-License-Identifier: Apache-2.0

/// One field of a request's head, such as `Accept: image/png`.
///
/// Its value may be a secret, so it is never put into a message, an event or the journal.
public struct HeaderField: Sendable, Hashable {
  /// The field's name as it was written; names are the same in either case.
  public let name: String

  /// The field's value, without white space around it.
  public let value: String

  /// Takes a line `Name: value`, or nil if it is none that HTTP can carry (RFC 9110, section 5).
  ///
  /// The name must be a token, and neither may hold a line break or another control character.
  public init?(_ line: String) {
    let bytes = line.utf8
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > bytes.startIndex,
      bytes[..<colon].allSatisfy(Self.isTokenByte)
    else { return nil }
    var value = bytes[bytes.index(after: colon)...]
    while let first = value.first, first == 0x20 || first == 0x09 { value.removeFirst() }
    while let last = value.last, last == 0x20 || last == 0x09 { value.removeLast() }
    guard value.allSatisfy({ $0 == 0x09 || $0 >= 0x20 && $0 != 0x7f }) else { return nil }
    name = String(decoding: bytes[..<colon], as: UTF8.self)
    self.value = String(decoding: value, as: UTF8.self)
  }

  /// The line that is sent.
  public var line: String { "\(name): \(value)" }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
