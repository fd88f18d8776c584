// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization

#if canImport(Glibc)
  private let stream = CInt(SOCK_STREAM.rawValue)
#else
  private let stream = SOCK_STREAM
#endif
#if canImport(Darwin)
  private let noSignal: CInt = 0
#else
  private let noSignal = CInt(MSG_NOSIGNAL)
#endif

/// The listening socket of an origin.
struct Listener: Sendable {
  let port: UInt16
  private let descriptor: CInt

  init() throws {
    let descriptor = socket(AF_INET, stream, 0)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    var address = Self.loopback(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, length) == 0 && listen(descriptor, 512) == 0
          && getsockname(descriptor, address, &length) == 0
      }
    }
    guard result else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    self.descriptor = descriptor
    port = UInt16(bigEndian: address.sin_port)
  }

  /// The next connection; nothing once the socket has failed.
  func accept() -> Connection? {
    let accepted = Foundation.accept(descriptor, nil, nil)
    return accepted < 0 ? nil : Connection(descriptor: accepted)
  }

  /// Ends a wait for a connection by making one.
  func wake() {
    let own = socket(AF_INET, stream, 0)
    var address = Self.loopback(port: port)
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = connect(own, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    _ = Foundation.close(own)
  }

  func close() { _ = Foundation.close(descriptor) }

  private static func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    return address
  }
}

/// One connection to an origin, read and written by its own thread.
final class Connection: Sendable {
  private let descriptor: CInt
  private let isOpen = Mutex(true)
  private let unread = Mutex<[UInt8]>([])
  private let session = Mutex<OriginTLS.Session?>(nil)

  init(descriptor: CInt) {
    self.descriptor = descriptor
    // Closing it must close the connection, though a test may have started a server meanwhile.
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    var one: CInt = 1
    let size = socklen_t(MemoryLayout<CInt>.size)
    setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &one, size)
    #if canImport(Darwin)
      setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &one, size)
    #endif
  }

  /// Reads up to the next empty line; nothing if the client closes first.
  func readHead() -> String? {
    unread.withLock { unread in
      let end = Array("\r\n\r\n".utf8)
      var chunk = [UInt8](repeating: 0, count: 4096)
      while true {
        if let range = unread.firstRange(of: end) {
          defer { unread.removeSubrange(..<range.upperBound) }
          return String(decoding: unread[..<range.upperBound], as: UTF8.self)
        }
        let count = receive(&chunk)
        if count <= 0 { return nil }
        unread += chunk[..<count]
      }
    }
  }

  /// Whatever comes next; nothing if the client closes.
  func receive() -> [UInt8]? {
    unread.withLock { unread in
      if !unread.isEmpty {
        defer { unread = [] }
        return unread
      }
      var chunk = [UInt8](repeating: 0, count: 4096)
      let count = receive(&chunk)
      return count <= 0 ? nil : Array(chunk[..<count])
    }
  }

  /// Agrees with the client on encryption; returns whether that worked.
  func secure(by tls: OriginTLS) -> Bool {
    let session = tls.accept(descriptor)
    self.session.withLock { $0 = session }
    return session != nil
  }

  private func receive(_ chunk: inout [UInt8]) -> Int {
    if let session = session.withLock({ $0 }) { return session.receive(&chunk) }
    return recv(descriptor, &chunk, chunk.count, 0)
  }

  /// Sends everything, unless the client has gone; returns whether it has not.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    let session = session.withLock { $0 }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count =
        session?.send(rest)
        ?? rest.withUnsafeBytes {
          Foundation.send(descriptor, $0.baseAddress, $0.count, noSignal)
        }
      if count <= 0 { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Makes the next `close()` send a reset in place of an orderly end.
  func closeWithReset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    session.withLock { $0 = nil }
    close()
  }

  /// Ends reading and writing, from whatever thread.
  func shutDown() {
    isOpen.withLock { isOpen in
      if isOpen { _ = shutdown(descriptor, CInt(SHUT_RDWR)) }
    }
  }

  func close() {
    session.withLock { session in
      session?.end()
      session = nil
    }
    isOpen.withLock { isOpen in
      if isOpen { _ = Foundation.close(descriptor) }
      isOpen = false
    }
  }
}
