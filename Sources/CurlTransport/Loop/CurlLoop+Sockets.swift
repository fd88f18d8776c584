// SPDX-License-Identifier: Apache-2.0

internal import CCurl

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension CurlLoop {
  /// Lets libcurl open and close its sockets through the loop.
  ///
  /// A pooled connection outlives the slot that made it; so what closes it is given the loop.
  func setSocketOptions(of easy: UnsafeMutableRawPointer, slot: UnsafeMutableRawPointer) {
    ccurl_set_opensocket(easy, openSocket)
    ccurl_set_pointer(easy, CURLOPT_OPENSOCKETDATA, slot)
    ccurl_set_closesocket(easy, closeSocket)
    ccurl_set_pointer(
      easy, CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(self).toOpaque())
  }

  fileprivate func didOpen(_ socket: curl_socket_t) {
    // A program that this one starts has no business with it.
    _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
    if let bandwidth = settings.bandwidth { keepShort(socket, bandwidth: bandwidth) }
    driver.didOpen(socket)
  }

  /// Lets the system keep no more unread bytes than a moment of the bandwidth brings: otherwise it
  /// would take in megabytes at full speed before the server is slowed down.
  private func keepShort(_ socket: curl_socket_t, bandwidth: Int) {
    guard bandwidth / 4 < 4 << 20 else { return }
    var bytes = CInt(max(bandwidth / 4, 128 << 10))
    let size = socklen_t(MemoryLayout<CInt>.size)
    setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, size)
  }

  fileprivate func willClose(_ socket: curl_socket_t) {
    driver.willClose(socket)
  }
}

private func openSocket(
  _ slot: UnsafeMutableRawPointer?, _ purpose: curlsocktype,
  _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
  guard let slot, let address = address?.pointee else { return CURL_SOCKET_BAD }
  let opener = TransferSlot.at(slot)
  opener.noteLookup()
  let descriptor = socket(address.family, address.socktype, address.protocol)
  guard descriptor >= 0 else {
    opener.socketError = errno
    return CURL_SOCKET_BAD
  }
  opener.loop.didOpen(descriptor)
  return descriptor
}

private func closeSocket(_ loop: UnsafeMutableRawPointer?, _ socket: curl_socket_t) -> CInt {
  guard let loop else { return 0 }
  Unmanaged<CurlLoop>.fromOpaque(loop).takeUnretainedValue().willClose(socket)
  return close(socket)
}
