// SPDX-License-Identifier: Apache-2.0

/// Computes digests: the seam between the downloader and a library that knows how.
public protocol DigestMaker: Sendable {
  /// Begins a digest of bytes that are still to come.
  ///
  /// Not to be asked for a kind that ``failure(for:)`` has an answer for.
  ///
  /// - Complexity: O(1), and no more than a small transfer can bear.
  func makeDigest(_ algorithm: Checksum.Algorithm) -> any RunningDigest

  /// Why digests of this kind cannot be made here, or nil if they can, as by default they all can.
  ///
  /// To be asked before an item begins whose list brings such a checksum.
  func failure(for algorithm: Checksum.Algorithm) -> DownloadFailure?
}

extension DigestMaker {
  /// None: digests of every kind can be made.
  public func failure(for algorithm: Checksum.Algorithm) -> DownloadFailure? { nil }
}

/// A digest of the bytes so far.
///
/// Used by one thread at a time.
public protocol RunningDigest: AnyObject, Sendable {
  /// Takes in the next bytes.
  func update(_ bytes: UnsafeRawBufferPointer)

  /// The digest of all bytes taken in; the last call.
  func finish() -> Checksum
}
