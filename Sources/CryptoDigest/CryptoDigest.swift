// SPDX-License-Identifier: Apache-2.0

public import BatchwiseDownload

/// Digests by libcrypto.
///
/// Make one for a run and keep it: what libcrypto has to look up is looked up once, and the working
/// memory of a digest that has ended serves the next one.
public struct CryptoDigest: DigestMaker {
  private let methods: [Checksum.Algorithm: DigestMethod]

  /// Asks this machine's libcrypto for every algorithm.
  public init() {
    self.init { $0.rawValue }
  }

  /// Asks for the algorithms by other names than their own, as if this machine had no others.
  init(name: (Checksum.Algorithm) -> String) {
    methods = Dictionary(
      uniqueKeysWithValues: Checksum.Algorithm.allCases.compactMap { algorithm in
        DigestMethod(algorithm, name: name(algorithm)).map { (algorithm, $0) }
      })
  }

  /// Why this machine makes no digests of the kind, or nil if it does.
  ///
  /// A libcrypto that was built or set up for FIPS 140 may have no MD5, and in time no SHA-1.
  public func failure(for algorithm: Checksum.Algorithm) -> DownloadFailure? {
    guard methods[algorithm] == nil else { return nil }
    return DownloadFailure(
      .checksum, "The libcrypto of this machine offers no \(algorithm.rawValue)")
  }

  /// Begins a digest of bytes that are still to come.
  ///
  /// An algorithm for which ``failure(for:)`` has an answer is a programming error here.
  ///
  /// - Complexity: O(1), less than hashing a hundred bytes; no lookup and one small allocation.
  public func makeDigest(_ algorithm: Checksum.Algorithm) -> any RunningDigest {
    guard let method = methods[algorithm] else {
      preconditionFailure("No \(algorithm.rawValue) here; failure(for:) was not asked")
    }
    return method.makeDigest()
  }
}
