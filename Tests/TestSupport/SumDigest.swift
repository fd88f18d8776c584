// SPDX-License-Identifier: Apache-2.0

public import BatchwiseDownload
internal import Synchronization

/// Digests that are worth nothing but tell every change of the bytes and of their order in a test.
public struct SumDigests: DigestMaker {
  /// Makes a maker.
  public init() {}

  /// Begins a sum.
  public func makeDigest(_ algorithm: Checksum.Algorithm) -> any RunningDigest {
    SumDigest(algorithm)
  }

  /// What the digest of these bytes comes to.
  public static func checksum(_ algorithm: Checksum.Algorithm, of bytes: [UInt8]) -> Checksum {
    let digest = SumDigest(algorithm)
    bytes.withUnsafeBytes(digest.update)
    return digest.finish()
  }
}

private final class SumDigest: RunningDigest {
  private let algorithm: Checksum.Algorithm
  private let sum = Mutex<UInt64>(0xcbf2_9ce4_8422_2325)

  init(_ algorithm: Checksum.Algorithm) { self.algorithm = algorithm }

  func update(_ bytes: UnsafeRawBufferPointer) {
    sum.withLock { sum in
      for byte in bytes { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }
  }

  func finish() -> Checksum {
    let sum = sum.withLock { $0 }
    let bytes = (0..<algorithm.length).map {
      UInt8(truncatingIfNeeded: sum >> (UInt64($0) % 8 * 8))
    }
    return Checksum(algorithm, bytes: bytes)
  }
}
