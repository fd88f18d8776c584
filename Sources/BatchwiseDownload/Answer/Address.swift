// SPDX-License-Identifier: Apache-2.0

/// What a transport has to know of an address besides what its library reads in it by itself.
package enum Address {
  /// The two schemes that are fetched.
  package enum Scheme: Sendable { case http, https }

  /// The address's scheme, if it is written out and is one of the two.
  ///
  /// Libraries guess: `example.com` would be taken for HTTP and `ftp.example.com` for FTP. An
  /// address with a NUL in it has no scheme here, since C would read it only up to there.
  package static func scheme(of url: String) -> Scheme? {
    if url.utf8.contains(0) { return nil }
    if begins(url, with: "http://") { return .http }
    return begins(url, with: "https://") ? .https : nil
  }

  private static func begins(_ url: String, with scheme: StaticString) -> Bool {
    var length = 0
    for byte in url.utf8.prefix(scheme.utf8CodeUnitCount) {
      let isUpper = UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
      guard (isUpper ? byte | 0x20 : byte) == scheme.utf8Start[length] else { return false }
      length += 1
    }
    return length == scheme.utf8CodeUnitCount
  }

  /// The address's host and port as they are written there, fit for a message: no user name, no
  /// password, no path.
  package static func host(of url: String) -> String {
    guard let slashes = url.firstRange(of: "://") else { return "the host" }
    let authority = url[slashes.upperBound...].prefix { !"/?#\\".contains($0) }
    let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    return host.isEmpty ? "the host" : String(host)
  }

  /// Whether the address has a user name, be it an empty one.
  package static func hasUser(_ url: String) -> Bool {
    guard let slashes = url.utf8.firstRange(of: "://".utf8) else { return false }
    return url.utf8[slashes.upperBound...].prefix { !"/?#\\".utf8.contains($0) }
      .contains(UInt8(ascii: "@"))
  }
}
