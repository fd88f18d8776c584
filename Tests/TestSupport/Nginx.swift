// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Synchronization

/// Debian's nginx with a configuration of its own: an origin that does not share our mistakes.
///
/// It serves a folder that the test fills, on a port of 127.0.0.1, with two workers and as the user
/// who runs the test. It ends with this object, and also when the test process dies.
public final class Nginx: Sendable {
  /// The port of 127.0.0.1 it listens on.
  public let port: UInt16
  /// The folder it serves; empty at first, removed in the end.
  public let root: String

  private let folder: String
  private let isSecured: Bool
  private let guardian: Mutex<Guardian?>

  /// Starts the server, and returns when it has answered a first request.
  ///
  /// - Parameters:
  ///   - isSecured: Whether it speaks HTTP/2 and HTTP/1.1 over TLS, with ``TestCertificate``.
  ///   - directives: More lines for the `server` block of its configuration.
  /// - Throws: ``Failure`` with what the server said, if it is missing or does not start.
  public init(isSecured: Bool = false, directives: String = "") throws {
    self.isSecured = isSecured
    let program = try Nginx.findProgram()
    let listener = try LoopbackListener()
    // Two workers accept from it. nginx takes an inherited socket as it is, and the one that comes too
    // late for a connection would wait for the next one, and leave its own connections alone.
    guard fcntl(listener.descriptor, F_SETFL, O_NONBLOCK) == 0 else { throw SystemFailure("fcntl") }
    port = listener.port
    folder = "\(NSTemporaryDirectory())batchwise-nginx-\(UUID())"
    root = "\(folder)/files"
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    let security =
      isSecured
      ? "ssl_certificate certificate.pem; ssl_certificate_key certificate.pem;" : ""
    try (TestCertificate.certificate + TestCertificate.key)
      .write(toFile: "\(folder)/certificate.pem", atomically: false, encoding: .utf8)
    try Nginx.configuration(
      listen: "127.0.0.1:\(port)\(isSecured ? " ssl http2" : "")",
      directives: security + directives
    ).write(toFile: "\(folder)/nginx.conf", atomically: false, encoding: .utf8)
    guardian = Mutex(try Guardian(program: program, folder: folder, socket: listener.descriptor))
    try waitUntilReady(closing: listener)
  }

  deinit {
    stop()
  }

  /// The address of a file, by its path relative to the folder.
  public func url(of path: String = "") -> String {
    "\(isSecured ? "https" : "http")://127.0.0.1:\(port)/\(path)"
  }

  /// Puts a file into the folder that is served, making the folders above it.
  public func put(_ bytes: some Sequence<UInt8>, at path: String) throws {
    let file = URL(filePath: "\(root)/\(path)")
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: file)
  }

  /// Ends the server, waits until it is gone, and removes its folder; twice does no harm.
  public func stop() {
    let running = guardian.withLock { guardian in
      defer { guardian = nil }
      return guardian
    }
    running?.end()
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// What the server has logged: how it started, and every error.
  public var log: String {
    ["output.log", "error.log"]
      .compactMap { try? String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8) }
      .joined()
  }

  /// Asks for an address that no test uses, and waits for the answer.
  ///
  /// The socket has been listening since before the server started, so the request waits in its
  /// backlog; if the server cannot start, the last holder of the socket is gone and the request fails.
  private func waitUntilReady(closing listener: consuming LoopbackListener) throws {
    let port = listener.port
    _ = consume listener
    do {
      let connection = try LoopbackConnection(port: port)
      try connection.sendRequest(for: Nginx.readyPath)
      guard try !connection.readToEnd().isEmpty else { throw SystemFailure("recv", code: EPIPE) }
    } catch {
      let log = log
      stop()
      throw Failure(description: "nginx did not start: \(log.isEmpty ? "\(error)" : log)")
    }
  }

  /// Why there is no server.
  public struct Failure: Error, CustomStringConvertible {
    /// The reason, and what to do about it.
    public let description: String
  }

  private static func findProgram() throws -> String {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    // Debian puts it where the PATH of ordinary users does not lead.
    let folders = path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/local/sbin"]
    let program = folders.lazy.map { $0 + "/nginx" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
    guard let program else {
      throw Failure(
        description: "nginx is missing: run scripts/install test, or install Debian's nginx-light")
    }
    return program
  }

  private static let readyPath = "/.ready"

  /// Paths without a leading slash are relative to the server's own folder.
  private static func configuration(listen: String, directives: String) -> String {
    """
    \(geteuid() == 0 ? "user root root;" : "")
    daemon off;
    pid nginx.pid;
    error_log error.log;
    worker_processes 2;
    events {
      worker_connections 512;
    }
    http {
      access_log off;
      client_body_temp_path body;
      proxy_temp_path proxy;
      fastcgi_temp_path fastcgi;
      uwsgi_temp_path uwsgi;
      scgi_temp_path scgi;
      types {
        image/png png;
        image/jpeg jpg jpeg;
        text/plain txt;
      }
      default_type application/octet-stream;
      sendfile on;
      tcp_nopush on;
      keepalive_requests 1000000;
      server {
        listen \(listen);
        root files;
        location = \(readyPath) { return 204; }
        \(directives)
      }
    }
    """
  }
}

/// A shell that runs the server until its standard input ends.
///
/// The other end of that input is held by this process alone, so it ends whichever way this process
/// does, and no server is ever left behind.
private struct Guardian {
  /// Runs the program, the first argument, in its folder, the second.
  ///
  /// The server inherits descriptor 3, the listening socket, and learns so from the variable NGINX,
  /// as it does when a running server replaces its own program: the port is taken before it starts,
  /// and nobody can come in between.
  private static let script = """
    NGINX='3;' "$1" -p "$2" -c nginx.conf -e error.log &
    exec 3<&-
    read -r _
    kill $!
    wait
    """

  private let process: pid_t
  private let leash: Int32

  init(program: String, folder: String, socket: Int32) throws {
    var ends: [Int32] = [-1, -1]
    // A pair of sockets rather than a pipe, for it can be made so that no other new process, perhaps
    // started at this very moment by another test, inherits an end.
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw SystemFailure("socketpair") }
    defer { close(ends[0]) }
    leash = ends[1]

    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
    posix_spawn_file_actions_adddup2(&actions, socket, 3)
    posix_spawn_file_actions_addopen(
      &actions, 1, "\(folder)/output.log", O_WRONLY | O_CREAT | O_APPEND, 0o600)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)

    // A thread of the test may block most signals, which a new process would inherit; the shell and
    // the server need theirs.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

    let words = ["sh", "-c", Guardian.script, "sh", program, folder]
    let arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    defer { arguments.forEach { free($0) } }
    var child = pid_t()
    let code = posix_spawn(&child, "/bin/sh", &actions, &attributes, arguments, environ)
    guard code == 0 else {
      close(leash)
      throw SystemFailure("posix_spawn", code: code)
    }
    process = child
  }

  func end() {
    close(leash)
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 && errno == EINTR {}
  }
}
