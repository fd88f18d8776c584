// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import Testing

@testable import CryptoDigest

@Suite("A digest by libcrypto", .timeLimit(.minutes(1)))
struct CryptoDigestTests {
  private let maker = CryptoDigest()

  private func digest(_ algorithm: Checksum.Algorithm, of pieces: [[UInt8]]) -> String {
    let digest = maker.makeDigest(algorithm)
    for piece in pieces { piece.withUnsafeBytes { digest.update($0) } }
    return digest.finish().hex
  }

  /// RFC 1321 (A.5), FIPS 180-4's examples, and the empty input of each.
  @Test(
    "Digests are those of the standards",
    arguments: [
      (.md5, "", "d41d8cd98f00b204e9800998ecf8427e"),
      (.md5, "abc", "900150983cd24fb0d6963f7d28e17f72"),
      (.md5, "message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
      (.sha1, "", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
      (.sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
      (
        .sha1, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
      ),
      (.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        .sha256, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
      (
        .sha512, "",
        "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
          + "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"
      ),
      (
        .sha512, "abc",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
          + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
      ),
    ] as [(Checksum.Algorithm, String, String)])
  func vectors(
    algorithm: Checksum.Algorithm, text: String, expected: String
  ) {
    #expect(digest(algorithm, of: [Array(text.utf8)]) == expected)
  }

  @Test("A million letters have the digest of the standard")
  func million() {
    let pieces = [[UInt8]](
      repeating: [UInt8](repeating: UInt8(ascii: "a"), count: 1000), count: 1000)
    #expect(
      digest(.sha256, of: pieces)
        == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  @Test(
    "How the bytes are cut into pieces makes no difference", arguments: Checksum.Algorithm.allCases)
  func pieces(algorithm: Checksum.Algorithm) {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<200 {
      let count = Int.random(in: 0...700, using: &generator)
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
      var pieces: [[UInt8]] = []
      var rest = bytes[...]
      while !rest.isEmpty {
        let length = Int.random(in: 0...150, using: &generator)
        pieces.append(Array(rest.prefix(length)))
        rest = rest.dropFirst(length)
      }
      let cuts = pieces.map(\.count)
      #expect(digest(algorithm, of: pieces) == digest(algorithm, of: [bytes]), "cut at \(cuts)")
    }
  }

  @Test("Digests that run at the same time know nothing of each other")
  func atOnce() {
    let running = (0..<200).map { _ in maker.makeDigest(.sha256) }
    for (number, digest) in running.enumerated() {
      withUnsafeBytes(of: number) { digest.update($0) }
    }
    let together = running.map { $0.finish().hex }
    let alone = running.indices.map { number in
      digest(.sha256, of: [withUnsafeBytes(of: number) { Array($0) }])
    }
    #expect(Set(together).count == 200)
    #expect(together == alone)
  }

  @Test("A digest that was dropped half-way leaves nothing to the next one")
  func dropped() {
    for _ in 0..<10 {
      let dropped = maker.makeDigest(.sha1)
      "left over".utf8.map { $0 }.withUnsafeBytes { dropped.update($0) }
    }
    #expect(digest(.sha1, of: []) == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
  }

  @Test("Many threads may share one maker")
  func threads() async {
    let maker = maker
    let expected = digest(.sha512, of: [[1, 2, 3]])
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 {
        group.addTask {
          (0..<500).allSatisfy { _ in
            let digest = maker.makeDigest(.sha512)
            [UInt8]([1, 2, 3]).withUnsafeBytes { digest.update($0) }
            return digest.finish().hex == expected
          }
        }
      }
      for await isRight in group { #expect(isRight) }
    }
  }

  @Test("An algorithm that the machine lacks is told before it is used")
  func lacking() {
    for algorithm in Checksum.Algorithm.allCases { #expect(maker.failure(for: algorithm) == nil) }

    let poor = CryptoDigest { $0 == .md5 ? "nothing of this name" : $0.rawValue }
    #expect(poor.failure(for: .sha256) == nil)
    #expect(
      poor.failure(for: .md5)
        == DownloadFailure(.checksum, "The libcrypto of this machine offers no md5"))
  }
}
