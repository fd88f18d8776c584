// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A socket that listens on 127.0.0.1 and is closed with this value.
public struct LoopbackListener: ~Copyable, Sendable {
  private let socket: Socket
  /// The port it listens on.
  public let port: UInt16

  /// Listens on a port; 0 lets the system choose one.
  public init(port: UInt16 = 0) throws {
    let socket = try Socket()
    var yes: Int32 = 1
    let size = socklen_t(MemoryLayout<Int32>.size)
    // Connections of an earlier listener that linger in TIME_WAIT are no reason to fail.
    setsockopt(socket.descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, size)
    try socket.bind(address: "127.0.0.1", port: port)
    guard listen(socket.descriptor, 511) == 0 else { throw SystemFailure("listen") }
    self.port = try socket.port()
    self.socket = socket
  }

  /// The open socket, to accept from or to hand down; a new process does not inherit it by itself.
  public var descriptor: Int32 { socket.descriptor }
}

/// One TCP connection to this machine with blocking calls, to ask a server in so many words.
///
/// A call that gets nowhere for 20 seconds fails, so a test that uses it cannot hang.
public final class LoopbackConnection: Sendable {
  private let socket: Socket

  /// Connects to a port of an IPv4 address.
  public init(port: UInt16, address: String = "127.0.0.1") throws {
    socket = try Socket()
    var patience = timeval(tv_sec: 20, tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    setsockopt(socket.descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, size)
    setsockopt(socket.descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, size)
    try socket.connect(address: address, port: port)
  }

  /// Sends the text as it stands.
  public func send(_ text: String) throws {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let sent = bytes.withUnsafeBytes {
        Glibc.send(socket.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard sent > 0 else { throw SystemFailure("send") }
      bytes.removeFirst(sent)
    }
  }

  /// Asks for a path, as the last request of this connection.
  public func sendRequest(for path: String, method: String = "GET") throws {
    try send("\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
  }

  /// Waits until a text has come, and returns everything up to it.
  ///
  /// What has come behind it is lost.
  public func read(until text: String) throws -> String {
    var all: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    while !all.contains(text.utf8) {
      let count = recv(socket.descriptor, &piece, piece.count, 0)
      guard count > 0 else { throw SystemFailure("recv", code: count == 0 ? ECONNRESET : errno) }
      all += piece[..<count]
    }
    return String(decoding: all, as: UTF8.self)
  }

  /// Waits until the server closes the connection, and returns everything it sent.
  public func readToEnd() throws -> [UInt8] {
    var all: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(socket.descriptor, &piece, piece.count, 0)
      guard count >= 0 else { throw SystemFailure("recv") }
      guard count > 0 else { return all }
      all += piece[..<count]
    }
  }
}

/// A system call that failed, and why.
public struct SystemFailure: Error, CustomStringConvertible {
  /// The name of the call.
  public let call: String
  /// The value of `errno` after it.
  public let code: Int32

  /// Describes a call that has just failed.
  public init(_ call: String) {
    self.init(call, code: errno)
  }

  /// Describes a call that returned its failure's code.
  public init(_ call: String, code: Int32) {
    self.call = call
    self.code = code
  }

  /// The call and the system's words for the reason.
  public var description: String { "\(call): \(String(cString: strerror(code)))" }
}

/// An open TCP socket for IPv4, closed with this value and not inherited by new processes.
private struct Socket: ~Copyable, Sendable {
  let descriptor: Int32

  init() throws {
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    descriptor = socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { throw SystemFailure("socket") }
  }

  deinit {
    close(descriptor)
  }

  func bind(address: String, port: UInt16) throws {
    let result = withAddress(address, port) { Glibc.bind(descriptor, $0, $1) }
    guard result == 0 else { throw SystemFailure("bind") }
  }

  func connect(address: String, port: UInt16) throws {
    let result = withAddress(address, port) { Glibc.connect(descriptor, $0, $1) }
    guard result == 0 else { throw SystemFailure("connect") }
  }

  func port() throws -> UInt16 {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
    }
    guard result == 0 else { throw SystemFailure("getsockname") }
    return UInt16(bigEndian: address.sin_port)
  }

  private func withAddress(
    _ text: String, _ port: UInt16, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    inet_pton(AF_INET, text, &address.sin_addr)
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        call($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}
