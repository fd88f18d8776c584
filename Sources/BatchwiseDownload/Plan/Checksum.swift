// SPDX-License-Identifier: Apache-2.0

/// A digest of a file's bytes, and the algorithm that made it.
public struct Checksum: Sendable, Hashable {
  /// How it is computed; the raw values are the words that lists use.
  public enum Algorithm: String, Sendable, CaseIterable {
    /// 128 bits (RFC 1321); proves nothing against an attacker.
    case md5
    /// 160 bits (RFC 3174); proves nothing against an attacker.
    case sha1
    /// 256 bits (FIPS 180-4).
    case sha256
    /// 512 bits (FIPS 180-4).
    case sha512

    /// The length of the digest in bytes.
    public var length: Int {
      switch self {
      case .md5: 16
      case .sha1: 20
      case .sha256: 32
      case .sha512: 64
      }
    }
  }

  /// How it is computed.
  public let algorithm: Algorithm

  /// The digest in hexadecimal digits, in lower case.
  public let hex: String

  /// Takes a digest in hexadecimal digits of either case.
  ///
  /// Nil if they are not as many as the algorithm's digest has, or are no such digits.
  public init?(_ algorithm: Algorithm, hex: some StringProtocol) {
    guard hex.utf8.count == 2 * algorithm.length, hex.utf8.allSatisfy({ $0.hexValue != nil })
    else { return nil }
    self.algorithm = algorithm
    self.hex = hex.lowercased()
  }

  /// Takes a digest that was computed.
  public init(_ algorithm: Algorithm, bytes: [UInt8]) {
    precondition(bytes.count == algorithm.length, "A digest of \(bytes.count) bytes")
    self.algorithm = algorithm
    hex = String(unsafeUninitializedCapacity: 2 * bytes.count) { digits in
      for (index, byte) in bytes.enumerated() {
        digits[2 * index] = hexDigit(byte >> 4)
        digits[2 * index + 1] = hexDigit(byte & 15)
      }
      return 2 * bytes.count
    }
  }
}

private func hexDigit(_ value: UInt8) -> UInt8 {
  value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
}
