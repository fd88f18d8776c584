// SPDX-License-Identifier: Apache-2.0

internal import CCurl

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
      throw CurlTransportError("\(call) failed: \(String(cString: strerror(errno)))")
    }
    self.number = number
  }

  deinit { _ = close(number) }
}

extension Descriptor {
  /// Two sockets that are connected with each other.
  static func pair() throws(CurlTransportError) -> (CInt, CInt) {
    var pair: (CInt, CInt) = (-1, -1)
    let result = withUnsafeMutablePointer(to: &pair) { pointer in
      pointer.withMemoryRebound(to: CInt.self, capacity: 2) {
        socketpair(AF_UNIX, ccurl_sock_stream, 0, $0)
      }
    }
    guard result == 0 else {
      throw CurlTransportError("socketpair failed: \(String(cString: strerror(errno)))")
    }
    _ = fcntl(pair.0, F_SETFD, FD_CLOEXEC)
    _ = fcntl(pair.1, F_SETFD, FD_CLOEXEC)
    return pair
  }

  /// Whether the system gives out no more than a few descriptors.
  ///
  /// A lookup of a name needs some, for its files and sockets, and does not say that it was they who
  /// were missing. Others may let go of theirs between its failure and this look; so a few that can
  /// be had are not yet enough.
  static var areScarce: Bool {
    var taken: [CInt] = []
    defer { for descriptor in taken { _ = close(descriptor) } }
    for _ in 0..<needed {
      let descriptor = socket(AF_UNIX, ccurl_sock_stream, 0)
      if descriptor < 0 { return true }
      taken.append(descriptor)
    }
    return false
  }

  private static var needed: Int { 4 }

  /// Whether a call that should have made a descriptor failed for want of one, or of memory for it.
  static func isScarcity(_ code: CInt) -> Bool {
    [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(code)
  }
}
