// SPDX-License-Identifier: Apache-2.0

/// An `http` or `https` address of a list, checked and made fit for the wire.
///
/// What the list says is kept byte for byte, but for what HTTP cannot carry: spaces, control bytes,
/// bytes outside ASCII and a percent sign that begins no escape are percent-encoded, and the
/// fragment is cut off. The host may be Unicode; the transport translates it.
///
/// The address is split as RFC 3986, appendix B says. Foundation's parser is not used because it
/// encodes every percent sign a second time as soon as one other byte needs encoding.
struct WebAddress: Sendable, Hashable {
  /// The scheme, in lower case.
  let scheme: Substring
  /// User name and password with their `@`, or nothing.
  private let credentials: Substring
  /// Host and port, as the list wrote them.
  private let hostAndPort: Substring
  /// Path and query, encoded, beginning with `/`.
  private let target: String

  /// Checks and encodes one address.
  ///
  /// - Throws: A `bad-url` failure that says what is wrong and what would be right.
  init(_ text: String) throws(DownloadFailure) {
    guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://"),
      case let scheme = text[..<colon].lowercased(), scheme == "http" || scheme == "https"
    else {
      throw DownloadFailure(.badURL, "An address begins with http:// or https://")
    }
    let rest = text[text.index(colon, offsetBy: 3)...]
    let authorityEnd = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
    let authority = rest[..<authorityEnd]
    let hostStart = authority.lastIndex(of: "@").map(authority.index(after:))
    let hostAndPort = authority[(hostStart ?? authority.startIndex)...]
    try Self.check(hostAndPort: hostAndPort)

    self.scheme = Substring(scheme)
    self.credentials = Substring(
      Self.encoded(authority[..<(hostStart ?? authority.startIndex)]))
    self.hostAndPort = hostAndPort
    let target = rest[authorityEnd...].prefix { $0 != "#" }
    self.target = (target.hasPrefix("/") ? "" : "/") + Self.encoded(target)
  }

  /// The whole address, as a transport needs it: it may hold a password, so it is never shown.
  var absolute: String { "\(scheme)://\(credentials)\(hostAndPort)\(target)" }

  /// The address without user name and password, fit for events, messages and pages.
  var redacted: String { "\(scheme)://\(hostAndPort)\(target)" }

  /// The last segment of the path, still encoded; empty when the path ends with `/`.
  var lastPathSegment: Substring {
    let path = target.prefix { $0 != "?" }
    return path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...]
  }

  // MARK: - The rules

  private static func check(hostAndPort: Substring) throws(DownloadFailure) {
    let bytes = hostAndPort.utf8
    let host: Substring.UTF8View
    if bytes.first == UInt8(ascii: "[") {
      let end = bytes.firstIndex(of: UInt8(ascii: "]")) ?? bytes.startIndex
      host = bytes[bytes.startIndex..<end]
      guard host.count > 2, host.dropFirst().allSatisfy(isAddressByte) else {
        throw DownloadFailure(.badURL, "The address in brackets is no IPv6 address")
      }
      try check(port: bytes[bytes.index(after: end)...])
    } else {
      host = bytes[..<(bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex)]
      guard !host.isEmpty else { throw DownloadFailure(.badURL, "The address names no host") }
      guard host.allSatisfy(isHostByte) else {
        throw DownloadFailure(.badURL, "The host's name holds a character that no host's name has")
      }
      try check(port: bytes[host.endIndex...])
    }
  }

  private static func check(port: Substring.UTF8View) throws(DownloadFailure) {
    guard !port.isEmpty, port.count > 1 else { return }
    guard port.first == UInt8(ascii: ":"),
      let number = Int(Substring(port.dropFirst())), (1...65_535).contains(number)
    else { throw DownloadFailure(.badURL, "The port is no number from 1 to 65535") }
  }

  private static func isHostByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "_"), UInt8(ascii: "~"), 0x80...:
      true
    default: false
    }
  }

  private static func isAddressByte(_ byte: UInt8) -> Bool {
    byte.isHexDigit || byte == UInt8(ascii: ":") || byte == UInt8(ascii: ".")
  }

  /// Encodes what HTTP cannot carry, and nothing else.
  private static func encoded(_ text: Substring) -> String {
    let bytes = text.utf8
    guard bytes.contains(where: { !isCarried($0) || $0 == percent }) else { return String(text) }
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count + 16)
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let byte = bytes[index]
      if isCarried(byte), byte != percent || beginsEscape(bytes[index...]) {
        result.append(byte)
      } else {
        result.append(percent)
        result.append(hexDigits[Int(byte >> 4)])
        result.append(hexDigits[Int(byte & 15)])
      }
      bytes.formIndex(after: &index)
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static func isCarried(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7f }

  private static func beginsEscape(_ bytes: Substring.UTF8View) -> Bool {
    let digits = bytes.dropFirst().prefix(2)
    return digits.count == 2 && digits.allSatisfy(\.isHexDigit)
  }
}

private let percent = UInt8(ascii: "%")
private let hexDigits = Array("0123456789ABCDEF".utf8)

extension UInt8 {
  /// Whether this is a hexadecimal digit of ASCII, in either case.
  var isHexDigit: Bool {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"):
      true
    default: false
    }
  }
}

extension WebAddress {
  /// A text that is no address, fit to be shown: without what may be a user name and password,
  /// without control characters, and cut to a length that fits a line.
  static func redacting(_ text: String) -> String {
    var shown = text[...]
    if let at = text.lastIndex(of: "@") { shown = text[text.index(after: at)...] }
    let scalars = shown.unicodeScalars.prefix(200).map { scalar in
      scalar.properties.generalCategory == .control ? "\u{FFFD}" : scalar
    }
    var result = String.UnicodeScalarView()
    result.append(contentsOf: scalars)
    return String(result)
  }
}
