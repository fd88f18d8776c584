// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A socket whose other side is closed, put in the place of connections that are not to be used
/// again.
///
/// A pooled connection must be silent. If it is not, the server has closed it, or has sent bytes
/// that answer no request, and the next transfer would take those for its own answer. libcurl before
/// 8.0 sees the first case alone. It cannot be told to drop a connection either; but before it uses
/// one it looks whether that is closed, and seen through the dead end every connection is.
struct DeadEnd: ~Copyable {
  private let socket: Descriptor

  init() throws(CurlTransportError) {
    let pair = try Descriptor.pair()
    socket = try Descriptor(pair.0, of: "socketpair")
    _ = close(pair.1)
  }

  /// Closes the connection of an idle socket, if there is anything to read from it, and lets its
  /// descriptor lead to the dead end.
  ///
  /// - Returns: Whether it did.
  func replace(ifNotSilent descriptor: CInt) -> Bool {
    var byte: UInt8 = 0
    let count = recv(descriptor, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT))
    let isSilent = count < 0 && [EAGAIN, EWOULDBLOCK, EINTR, ENOTCONN].contains(errno)
    if isSilent { return false }
    guard dup2(socket.number, descriptor) >= 0 else { return false }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    return true
  }
}
