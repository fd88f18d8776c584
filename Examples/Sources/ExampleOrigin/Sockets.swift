// SPDX-License-Identifier: Apache-2.0

internal import Foundation

#if canImport(Glibc)
  internal import Glibc
  private let stream = Int32(SOCK_STREAM.rawValue)
#elseif canImport(Musl)
  internal import Musl
  private let stream = SOCK_STREAM
#else
  private let stream = SOCK_STREAM
#endif

/// Opens a socket that listens on a free port of 127.0.0.1.
func listenOnLoopback() throws -> (listener: Int32, port: UInt16) {
  signal(SIGPIPE, SIG_IGN)  // A client that has gone away is no reason to end.
  let listener = socket(AF_INET, stream, 0)
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  var size = socklen_t(MemoryLayout<sockaddr_in>.size)
  let isListening = withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
      bind(listener, pointer, size) == 0 && listen(listener, 128) == 0
        && getsockname(listener, pointer, &size) == 0
    }
  }
  guard isListening else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
  return (listener, UInt16(bigEndian: address.sin_port))
}

/// Waits for the next request and returns its path; nil when there is none to come.
///
/// What has arrived of the one after it stays in `received`.
func nextPath(from connection: Int32, _ received: inout [UInt8]) -> String? {
  var piece = [UInt8](repeating: 0, count: 4096)
  while true {
    if let end = received.firstRange(of: Array("\r\n\r\n".utf8)) {
      let words = received[..<end.lowerBound].split(separator: UInt8(ascii: " "))
      received.removeSubrange(..<end.upperBound)
      return words.count > 1 ? String(decoding: words[1], as: UTF8.self) : nil
    }
    let count = recv(connection, &piece, piece.count, 0)
    guard count > 0 else { return nil }
    received += piece[..<count]
  }
}

/// Sends all bytes, unless the client has gone away.
func send(_ bytes: [UInt8], to connection: Int32) -> Bool {
  var rest = bytes[...]
  while !rest.isEmpty {
    let sent = rest.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, 0) }
    guard sent > 0 else { return false }
    rest = rest.dropFirst(sent)
  }
  return true
}
