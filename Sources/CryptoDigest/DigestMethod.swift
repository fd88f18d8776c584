// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import CCrypto
internal import Synchronization

/// One algorithm of libcrypto, and contexts for it that are free.
///
/// A lookup takes libcrypto longer than the hashing of a small file, and a new context half as long.
///
/// `@unchecked Sendable`: the method is never changed after it was fetched, and libcrypto counts
/// references to it atomically; the free contexts are only touched under the lock.
final class DigestMethod: @unchecked Sendable {
  /// So many files may end at one moment and leave their contexts to the next ones.
  private static let mostFree = 64

  let algorithm: Checksum.Algorithm
  private let method: OpaquePointer
  private let free = Mutex<[Context]>([])

  /// `@unchecked Sendable`: handed from one owner to the next, under the lock.
  private struct Context: @unchecked Sendable {
    let pointer: OpaquePointer
  }

  /// Looks the algorithm up; nil if this machine has none of that name.
  init?(_ algorithm: Checksum.Algorithm, name: String) {
    // The checksums of a list are no matter of security, so what a machine keeps away from matters
    // of security will do.
    guard let method = EVP_MD_fetch(nil, name, nil) ?? EVP_MD_fetch(nil, name, "-fips") else {
      ERR_clear_error()
      return nil
    }
    self.algorithm = algorithm
    self.method = method
  }

  deinit {
    free.withLock { for context in $0 { EVP_MD_CTX_free(context.pointer) } }
    EVP_MD_free(method)
  }

  func makeDigest() -> LibcryptoDigest {
    let context = free.withLock { $0.popLast()?.pointer } ?? EVP_MD_CTX_new()
    guard let context, EVP_DigestInit_ex2(context, method, nil) == 1 else {
      preconditionFailure("No memory for a digest")
    }
    return LibcryptoDigest(self, context)
  }

  fileprivate func takeBack(_ pointer: OpaquePointer) {
    let context = Context(pointer: pointer)
    let isKept = free.withLock { free in
      guard free.count < Self.mostFree else { return false }
      free.append(context)
      return true
    }
    if !isKept { EVP_MD_CTX_free(pointer) }
  }
}

/// A digest of the bytes so far, by libcrypto.
///
/// `@unchecked Sendable`: `RunningDigest` is used by one thread at a time.
final class LibcryptoDigest: RunningDigest, @unchecked Sendable {
  private let method: DigestMethod
  private let context: OpaquePointer

  fileprivate init(_ method: DigestMethod, _ context: OpaquePointer) {
    self.method = method
    self.context = context
  }

  deinit { method.takeBack(context) }

  func update(_ bytes: UnsafeRawBufferPointer) {
    guard EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 else {
      preconditionFailure("A digest took in bytes after its end")
    }
  }

  func finish() -> Checksum {
    let bytes = [UInt8](unsafeUninitializedCapacity: method.algorithm.length) { buffer, count in
      var length: UInt32 = 0
      guard EVP_DigestFinal_ex(context, buffer.baseAddress, &length) == 1,
        Int(length) == buffer.count
      else { preconditionFailure("A digest ended twice") }
      count = Int(length)
    }
    return Checksum(method.algorithm, bytes: bytes)
  }
}
