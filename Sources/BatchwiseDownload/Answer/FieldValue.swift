// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// What the values of a head's fields mean.
///
/// A value that is not what its field may hold is none: it is compared, kept or sent back, and what
/// has been guessed there would vouch for other bytes than it should.
enum FieldValue {
  /// The media type without its parameters, in lower case (RFC 9110, section 8.3.1).
  static func mediaType(_ value: Ascii.Bytes) -> String? {
    let type = Ascii.trimmed(value.prefix { $0 != UInt8(ascii: ";") && $0 != Ascii.comma })
    guard 3...255 ~= type.count, Ascii.isPrintable(type), !type.contains(Ascii.space),
      let slash = type.firstIndex(of: Ascii.slash), slash > type.startIndex,
      slash < type.endIndex - 1, !type[(slash + 1)...].contains(Ascii.slash)
    else { return nil }
    return String(unsafeUninitializedCapacity: type.count) { buffer in
      var length = 0
      for byte in UnsafeRawBufferPointer(rebasing: type) {
        buffer[length] = Ascii.lowercased(byte)
        length += 1
      }
      return length
    }
  }

  /// A value that is kept to be sent back as it is: printable, and not too long for that.
  static func kept(_ value: Ascii.Bytes, atMost length: Int) -> String? {
    guard 1...length ~= value.count, Ascii.isPrintable(value) else { return nil }
    return String(decoding: value, as: UTF8.self)
  }

  /// `bytes 0-99/1000`, `bytes 0-99/*` or `bytes */1000` (RFC 9110, section 14.4).
  static func contentRange(_ value: Ascii.Bytes) -> ContentRange? {
    guard let space = value.firstIndex(of: Ascii.space), Ascii.isEqual(value[..<space], "bytes"),
      let slash = value.firstIndex(of: Ascii.slash), slash > space
    else { return nil }
    let part = value[(space + 1)..<slash]
    let length = value[(slash + 1)...]
    let isUnknown = isStar(length)
    let total = isUnknown ? nil : Ascii.number(length)
    if !isUnknown && total == nil { return nil }
    if isStar(part) { return isUnknown ? nil : ContentRange(bytes: nil, total: total) }
    guard let hyphen = part.firstIndex(of: UInt8(ascii: "-")),
      let first = Ascii.number(part[..<hyphen]), let last = Ascii.number(part[(hyphen + 1)...]),
      first <= last, last < total ?? .max
    else { return nil }
    return ContentRange(bytes: first..<(last + 1), total: total)
  }

  private static func isStar(_ value: Ascii.Bytes) -> Bool {
    value.count == 1 && value.first == UInt8(ascii: "*")
  }

  /// How long a server asks to be left alone, as it writes it (RFC 9110, section 10.2.3).
  enum RetryAfter: Sendable {
    case seconds(Int64)
    case until(Int64)

    /// The longest time a server is taken at its word.
    private static let longest: Int64 = 366 * 86_400

    init?(_ value: Ascii.Bytes) {
      if value.isEmpty { return nil }
      if value.allSatisfy(Ascii.isDigit) {
        self = .seconds(Ascii.number(value) ?? .max)
      } else if let instant = HTTPDate.seconds(value) {
        self = .until(instant)
      } else {
        return nil
      }
    }

    /// The time from an answer's own date on, so that a clock that is wrong does no harm.
    func time(from date: Int64?) -> Duration {
      switch self {
      case .seconds(let count): .seconds(min(count, Self.longest))
      case .until(let instant):
        .seconds(
          max(0, min(instant - (date ?? Int64(Date.now.timeIntervalSince1970)), Self.longest)))
      }
    }
  }
}
