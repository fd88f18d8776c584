// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A file descriptor with one owner, closed when the owner is gone.
struct Descriptor: ~Copyable {
  let number: CInt

  /// Takes what a system call has returned; a negative number is its failure.
  init(_ number: CInt, of call: StaticString) throws(CurlTransportError) {
    guard number >= 0 else {
      throw CurlTransportError("\(call) failed: \(String(cString: strerror(errno))).")
    }
    self.number = number
  }

  deinit { _ = close(number) }
}
