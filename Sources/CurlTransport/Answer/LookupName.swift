// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

/// Which host an address makes libcurl look up.
package enum LookupName {
  /// The scheme, host and port of an address, in lower case; nothing for an address in numbers and
  /// for `localhost`, which need no lookup.
  ///
  /// Two spellings of one host are two here, and cost a lookup more.
  package static func of(_ url: String) -> String? {
    var url = url
    return url.withUTF8 { bytes -> String? in
      let authority = authority(in: bytes)
      var host = bytes[authority]
      if let at = host.lastIndex(of: UInt8(ascii: "@")) { host = host[(at + 1)...] }
      let name = host.prefix { $0 != UInt8(ascii: ":") }
      let isNumeric = name.allSatisfy { Ascii.isDigit($0) || $0 == UInt8(ascii: ".") }
      if isNumeric || name.first == UInt8(ascii: "[") || isLocal(name) { return nil }
      return String(unsafeUninitializedCapacity: authority.lowerBound + host.count) { buffer in
        var length = 0
        for part in [bytes[..<authority.lowerBound], host] {
          for byte in part {
            buffer[length] = Ascii.lowercased(byte)
            length += 1
          }
        }
        return length
      }
    }
  }

  /// Whether an address begins with these bytes, and its path follows.
  static func isPrefix(_ prefix: [UInt8], of url: String) -> Bool {
    url.utf8.withContiguousStorageIfAvailable { bytes in
      guard bytes.count >= prefix.count, bytes.starts(with: prefix) else { return false }
      return bytes.count == prefix.count || endsAuthority(bytes[prefix.count])
    } ?? false
  }

  /// What stands before an address's path.
  static func prefix(of url: String) -> [UInt8] {
    var url = url
    return url.withUTF8 { Array($0[..<authority(in: $0).upperBound]) }
  }

  private static func authority(in bytes: UnsafeBufferPointer<UInt8>) -> Range<Int> {
    var start = 0
    if let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
      bytes[(colon + 1)...].starts(with: "//".utf8)
    {
      start = colon + 3
    }
    return start..<(bytes[start...].firstIndex(where: endsAuthority) ?? bytes.count)
  }

  private static func endsAuthority(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "\\"): true
    default: false
    }
  }

  private static func isLocal(_ name: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    let local = "localhost".utf8
    let end = name.suffix(local.count)
    guard end.count == local.count, zip(end, local).allSatisfy({ Ascii.lowercased($0) == $1 })
    else { return false }
    let rest = name.dropLast(local.count)
    return rest.isEmpty || rest.last == UInt8(ascii: ".")
  }
}
