// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

extension Address {
  /// The absolute address that a reference leads to from a base, or nothing if it leads nowhere
  /// (RFC 3986, section 5.2).
  ///
  /// Spaces and bytes outside ASCII are percent-encoded. `URL` would do so by itself, and encode every
  /// percent sign a second time.
  static func resolve(_ reference: String, against base: String) -> String? {
    let reference = encoded(reference) { $0 <= 0x20 || $0 >= 0x7f }
    guard let slashes = base.utf8.firstRange(of: "://".utf8) else { return nil }
    let scheme = base[..<slashes.lowerBound]
    let authority = Substring(base.utf8[slashes.upperBound...].prefix { !endsAuthority($0) })
    let origin = "\(scheme)://\(authority)"
    let target = Substring(base.utf8[authority.endIndex...].prefix { $0 != UInt8(ascii: "#") })
    let path = Substring(target.utf8.prefix { $0 != UInt8(ascii: "?") })

    if hasScheme(reference) { return hasHost(reference) ? reference : nil }
    if reference.hasPrefix("//") {
      let absolute = "\(scheme):\(reference)"
      return hasHost(absolute) ? absolute : nil
    }
    if reference.isEmpty || reference.hasPrefix("#") { return origin + target + reference }
    if reference.hasPrefix("?") { return origin + path + reference }
    let end = reference.utf8.firstIndex { "?#".utf8.contains($0) } ?? reference.endIndex
    var newPath = reference[..<end]
    if !newPath.hasPrefix("/") {
      let folder = path.lastIndex(of: "/").map { path[...$0] } ?? "/"
      newPath = folder + newPath
    }
    return origin + withoutDots(newPath) + reference[end...]
  }

  /// The address as `URL` takes it: what its grammar does not allow behind the host is
  /// percent-encoded, though most servers would understand it.
  static func carried(_ text: String) -> String {
    guard let slashes = text.utf8.firstRange(of: "://".utf8) else { return text }
    let start =
      text.utf8[slashes.upperBound...].firstIndex(where: endsAuthority) ?? text.endIndex
    return text[..<start] + encoded(String(text[start...])) { !isInGrammar($0) }
  }

  /// Encodes the bytes that are named, and percent signs that begin no escape.
  private static func encoded(_ text: String, _ isNamed: (UInt8) -> Bool) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var result: [UInt8] = []
    var rest = Substring(text).utf8
    while let byte = rest.popFirst() {
      let isStray =
        byte == UInt8(ascii: "%") && !(rest.count >= 2 && rest.prefix(2).allSatisfy(isHexDigit))
      if isNamed(byte) || isStray {
        result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      } else {
        result.append(byte)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    Character(Unicode.Scalar(byte)).isHexDigit
  }

  private static func isInGrammar(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte < 0x7f && !"\"<>\\^`{|}[]".utf8.contains(byte)
  }

  private static func endsAuthority(_ byte: UInt8) -> Bool { "/?#\\".utf8.contains(byte) }

  private static func hasScheme(_ text: String) -> Bool {
    guard let colon = text.utf8.firstIndex(where: { ":/?#".utf8.contains($0) }),
      text[colon] == ":", text.first?.isLetter == true
    else { return false }
    return text[..<colon].allSatisfy { $0.isLetter || $0.isNumber || "+-.".contains($0) }
  }

  /// Whether an absolute address names a host that can be read; one that has no authority is left to
  /// whoever wants to follow it.
  private static func hasHost(_ text: String) -> Bool {
    guard let slashes = text.utf8.firstRange(of: "://".utf8) else { return true }
    let authority = text.utf8[slashes.upperBound...].prefix { !endsAuthority($0) }
    let host = authority.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false).last
    guard let host, let first = host.first else { return false }
    return first != UInt8(ascii: "[") || host.contains(UInt8(ascii: "]"))
  }

  /// The path with what `.` and `..` mean done to it.
  private static func withoutDots(_ path: Substring) -> String {
    var kept: [Substring] = []
    let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    for (index, segment) in segments.enumerated() {
      let isLast = index == segments.count - 1
      switch segment {
      case ".": if isLast { kept.append("") }
      case "..":
        _ = kept.popLast()
        if isLast { kept.append("") }
      default: kept.append(segment)
      }
    }
    return "/" + kept.joined(separator: "/")
  }
}
