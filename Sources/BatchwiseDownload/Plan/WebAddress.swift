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
  let scheme: String
  /// User name and password with their `@`, or nothing.
  private var credentials: String
  /// Scheme, host and port, the same for all addresses of one origin (RFC 6454, section 4).
  let origin: String

  /// The address without user name and password, fit for events, messages and pages.
  let redacted: String

  /// Checks and encodes one address.
  ///
  /// - Throws: A `bad-url` failure that says what is wrong and what would be right.
  init(_ text: String) throws(DownloadFailure) {
    // Bytes are looked at, for a character may join a `/` or an `@` with an accent that follows it.
    let bytes = text.utf8
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
      bytes[colon...].starts(with: "://".utf8),
      case let scheme = text[..<colon].lowercased(), scheme == "http" || scheme == "https"
    else {
      throw DownloadFailure(.badURL, "An address begins with http:// or https://")
    }
    let rest = bytes[colon...].dropFirst(3)
    let target = rest.drop { !Self.endsAuthority($0) }
    let authority = rest[..<target.startIndex]
    let at = authority.lastIndex(of: UInt8(ascii: "@"))
    let hostAndPort = authority[(at.map(authority.index(after:)) ?? authority.startIndex)...]
    try Self.check(hostAndPort: hostAndPort)

    self.scheme = scheme
    self.credentials = at.map { Self.encoded(authority[..<$0], and: "@\\") + "@" } ?? ""
    origin = Self.origin(scheme, Substring(hostAndPort))
    if at == nil, text.utf8.starts(with: scheme.utf8), target.first == UInt8(ascii: "/"),
      target.allSatisfy({ Self.isCarried($0) && !Self.needsThought($0) })
    {
      redacted = text  // As nearly all are; no copy is made.
    } else {
      let sent = Self.encoded(target.prefix { $0 != UInt8(ascii: "#") })
      let slash = sent.utf8.first == UInt8(ascii: "/") ? "" : "/"
      redacted = "\(scheme)://\(Substring(hostAndPort))\(slash)\(sent)"
    }
  }

  /// The whole address, as a transport needs it: it may hold a password, so it is never shown.
  var absolute: String {
    guard !credentials.isEmpty else { return redacted }
    let rest = Substring(redacted.utf8.dropFirst(scheme.utf8.count + 3))
    return "\(scheme)://\(credentials)\(rest)"
  }

  /// Whether it has a user name or a password.
  var hasCredentials: Bool { !credentials.isEmpty }

  /// The last segment of the path, still encoded; empty when the path ends with `/`.
  var lastPathSegment: Substring {
    let path = redacted.utf8.prefix { $0 != UInt8(ascii: "?") }
    let slash = path.lastIndex(of: UInt8(ascii: "/"))
    return Substring(path[(slash.map(path.index(after:)) ?? path.startIndex)...])
  }

  /// The address to ask when the other one redirects to this one.
  ///
  /// A user name and password go along within one origin, the same scheme, host and port, and to no
  /// other; nor are those sent that a redirect brings itself.
  func redirected(from other: WebAddress) -> WebAddress {
    var address = self
    address.credentials = origin == other.origin ? other.credentials : ""
    return address
  }

  // MARK: - The rules

  /// The origin of what has been checked: letters in lower case, and the port as a plain number that is
  /// left out where it is the scheme's own.
  private static func origin(_ scheme: String, _ hostAndPort: Substring) -> String {
    let isLower = hostAndPort.utf8.allSatisfy {
      !(UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0) && $0 < 0x80
    }
    var host = isLower ? hostAndPort : Substring(hostAndPort.lowercased())
    // Behind the last colon is the port, unless it is one of those within brackets.
    guard host.utf8.last != UInt8(ascii: "]"),
      let colon = host.utf8.lastIndex(of: UInt8(ascii: ":"))
    else { return "\(scheme)://\(host)" }
    let port = host[colon...].utf8.dropFirst().drop { $0 == UInt8(ascii: "0") }
    let usual = scheme == "https" ? "443" : "80"
    host = host[..<colon]
    return port.isEmpty || port.elementsEqual(usual.utf8)
      ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(Substring(port))"
  }

  private static func check(hostAndPort bytes: Substring.UTF8View) throws(DownloadFailure) {
    let host: Substring.UTF8View
    if bytes.first == UInt8(ascii: "[") {
      let end = bytes.firstIndex(of: UInt8(ascii: "]")) ?? bytes.startIndex
      host = bytes[..<end]
      guard host.count > 2, host.dropFirst().allSatisfy(isAddressByte) else {
        throw DownloadFailure(.badURL, "The address in brackets is no IPv6 address")
      }
      try check(port: bytes[end...].dropFirst())
    } else {
      host = bytes.prefix { $0 != UInt8(ascii: ":") }
      guard !host.isEmpty else { throw DownloadFailure(.badURL, "The address names no host") }
      let isASCII = host.allSatisfy { $0 < 0x80 }
      guard host.allSatisfy(isHostByte),
        isASCII || Substring(host).unicodeScalars.allSatisfy(isHostScalar)
      else {
        throw DownloadFailure(.badURL, "The host's name holds a character that no host's name has")
      }
      try check(port: bytes[host.endIndex...])
    }
  }

  /// Checks what stands behind the host: nothing, or a colon and a number, which may be missing.
  private static func check(port: Substring.UTF8View) throws(DownloadFailure) {
    guard let first = port.first else { return }
    let digits = port.dropFirst()
    let isNumber = digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard first == UInt8(ascii: ":"), isNumber,
      digits.isEmpty || (1...65_535).contains(Int(Substring(digits)) ?? 0)
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

  private static func isHostScalar(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII || (!scalar.isMisleading && !scalar.properties.isWhitespace)
  }

  private static func isAddressByte(_ byte: UInt8) -> Bool {
    byte.hexValue != nil || byte == UInt8(ascii: ":") || byte == UInt8(ascii: ".")
  }

  /// Encodes what HTTP cannot carry, and the further bytes that are named.
  private static func encoded(_ bytes: Substring.UTF8View, and others: String = "") -> String {
    let hexDigits = "0123456789ABCDEF".utf8.map { $0 }
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count + 16)
    var rest = bytes
    while let byte = rest.first {
      let isKept =
        byte == UInt8(ascii: "%")
        ? rest.leadingEscape != nil : isCarried(byte) && !others.utf8.contains(byte)
      if isKept {
        result.append(byte)
      } else {
        result += [UInt8(ascii: "%"), hexDigits[Int(byte >> 4)], hexDigits[Int(byte & 15)]]
      }
      rest.removeFirst()
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static func isCarried(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7f }

  /// Whether the byte may have to be encoded, or to be cut off with what follows it.
  private static func needsThought(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "%") || byte == UInt8(ascii: "#")
  }

  private static func endsAuthority(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
  }
}

extension WebAddress {
  /// A text that is no address, fit to be shown: without what may be a user name and password,
  /// without characters that mislead, and cut to a length that fits a line.
  static func redacting(_ text: String) -> String {
    let scalars = text.unicodeScalars
    let at = scalars.lastIndex(of: "@")
    return String(scalars[(at.map(scalars.index(after:)) ?? scalars.startIndex)...]).harmless
  }
}
