// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
internal import Foundation
internal import Synchronization

/// An HTTP server on this machine that does what it is told, good or bad.
///
/// It listens on a port of its own on the loopback address, and answers each path as a test has
/// laid down; a path that nobody named is a 404.
///
///     let origin = try MisbehavingOrigin()
///     origin.on("/good", .ok("hello"))
///     origin.on("/short", .endsEarly(after: 3, of: 10))
///     let gate = MisbehavingOrigin.Gate()
///     origin.on("/slow", .held(at: gate, then: .ok("at last")))
///     … origin.url("/good") …
///     await gate.arrivals(1)  // The request has come; nothing has been answered.
///     gate.open()
///     #expect(origin.record.requests.count == 2)
///
/// Every connection has a thread, so a behaviour may block in it. The origin ends when the test
/// lets go of it: connections are closed, gates opened, threads gone.
public final class MisbehavingOrigin: Sendable {
  /// What has been asked of an origin so far.
  public struct Record: Sendable {
    /// The requests, in the order they came in.
    public fileprivate(set) var requests: [Request] = []

    /// How many connections have been made.
    public fileprivate(set) var connections = 0

    /// How many requests are being answered right now.
    ///
    /// A request is over just before its last byte is sent, so a client that has at most `n` in
    /// flight never lets this be more.
    public fileprivate(set) var inFlight = 0

    /// The most requests that were being answered at one moment.
    public fileprivate(set) var peakInFlight = 0

    /// How many requests have named a path.
    public func count(of path: String) -> Int {
      requests.count { $0.path == path }
    }
  }

  /// One request, as it came in.
  public struct Request: Sendable {
    /// The head as it was sent, its last empty line included.
    public let head: String

    /// Which connection it came on; they are numbered from 1.
    public let connection: Int

    /// How many requests the connection has carried, this one included.
    public let turn: Int

    /// What stands between the method and the version.
    public var target: String {
      let words = head.prefix { $0 != "\r\n" }.split(separator: " ")
      return words.count > 1 ? String(words[1]) : ""
    }

    /// The target's path, without a query.
    public var path: String {
      var rest = Substring(target)
      if rest.hasPrefix("http://") { rest = rest.dropFirst(7).drop { $0 != "/" } }
      return String(rest.prefix { $0 != "?" })
    }
  }

  /// The port it listens on.
  public let port: UInt16

  private let stage: Stage
  private let security: Security

  /// Whether, and how, an origin's connections are encrypted.
  public enum Security: Sendable, Equatable {
    /// Not at all.
    case none
    /// With ``TestCertificate``, speaking HTTP/1.1.
    case tls
    /// With ``TestCertificate``, speaking HTTP/2 to whoever can. Its preface is a request for the
    /// path `*`, to be answered with `frames`.
    case tlsWithHTTP2
    /// Not at all, though its addresses say so: a connection is closed, or reset, as soon as the client
    /// has said something on it.
    case tlsCutOff(withReset: Bool)
  }

  /// Starts an origin on a free port.
  ///
  /// - Parameters:
  ///   - greeting: What every connection is sent before anything was asked on it.
  ///   - security: Whether its connections are encrypted.
  /// - Throws: `POSIXError` if there is no port to listen on.
  public init(greeting: String = "", security: Security = .none) throws {
    let tls: OriginTLS?
    switch security {
    case .none, .tlsCutOff: tls = nil
    case .tls, .tlsWithHTTP2:
      tls = OriginTLS(offersHTTP2: security == .tlsWithHTTP2)
      guard tls != nil else { throw POSIXError(.EINVAL) }
    }
    let listener = try Listener()
    port = listener.port
    self.security = security
    stage = Stage(listener: listener, greeting: greeting, security: security, tls: tls)
    stage.begin()
  }

  deinit { stage.end() }

  /// The address of a path here.
  public func url(_ path: String = "/") -> String {
    "\(security == .none ? "http" : "https")://127.0.0.1:\(port)\(path)"
  }

  /// Lays down how a path is answered from now on.
  public func on(_ path: String, _ behaviour: Behaviour) {
    stage.state.withLock { $0.behaviours[path] = behaviour }
  }

  /// Lays down how every path is answered that has no behaviour of its own.
  public func onEverythingElse(_ behaviour: Behaviour) {
    stage.state.withLock { $0.fallback = behaviour }
  }

  /// What has been asked so far: one consistent value.
  public var record: Record { stage.state.withLock { $0.record } }
}

/// What the threads of an origin share; it outlives the origin until the last of them is gone.
final class Stage: Sendable {
  struct State {
    var behaviours: [String: MisbehavingOrigin.Behaviour] = [:]
    var fallback = MisbehavingOrigin.Behaviour.status(404, "nothing here")
    var record = MisbehavingOrigin.Record()
    var open: [Int: Connection] = [:]
    var gates: [MisbehavingOrigin.Gate] = []
    var isOver = false
  }

  let state = Mutex(State())
  private let listener: Listener
  private let greeting: String
  private let security: MisbehavingOrigin.Security
  private let tls: OriginTLS?
  private let threads = DispatchGroup()

  init(
    listener: Listener, greeting: String, security: MisbehavingOrigin.Security, tls: OriginTLS?
  ) {
    self.security = security
    self.listener = listener
    self.tls = tls
    self.greeting = greeting
  }

  func begin() {
    thread { stage in
      while let connection = stage.listener.accept() {
        guard let number = stage.admit(connection) else { break }
        stage.thread { $0.serve(connection, number: number) }
      }
      stage.listener.close()
    }
  }

  func end() {
    let (connections, gates) = state.withLock { state in
      state.isOver = true
      return (Array(state.open.values), state.gates)
    }
    for gate in gates { gate.open() }
    for connection in connections { connection.shutDown() }
    listener.wake()
    threads.wait()
  }

  private func thread(_ body: @escaping @Sendable (Stage) -> Void) {
    threads.enter()
    Thread.detachNewThread { [self] in
      // OpenSSL writes to a connection without asking to be spared this signal.
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &signals, nil)
      body(self)
      threads.leave()
    }
  }

  private func admit(_ connection: Connection) -> Int? {
    state.withLock { state in
      if state.isOver {
        connection.close()
        return nil
      }
      state.record.connections += 1
      state.open[state.record.connections] = connection
      return state.record.connections
    }
  }

  private func serve(_ connection: Connection, number: Int) {
    connection.send(Array(greeting.utf8))
    var isReady = true
    if case .tlsCutOff(let withReset) = security {
      _ = connection.receive()
      if withReset { connection.closeWithReset() }
      isReady = false
    } else if let tls {
      isReady = connection.secure(by: tls)
    }
    var turn = 0
    while isReady, let head = connection.readHead() {
      turn += 1
      let request = MisbehavingOrigin.Request(head: head, connection: number, turn: turn)
      let exchange = MisbehavingOrigin.Exchange(request: request, connection: connection, self)
      begin(request).play(exchange)
      exchange.endOnce()
      if exchange.hasClosed { break }
    }
    state.withLock { _ = $0.open.removeValue(forKey: number) }
    connection.close()
  }

  private func begin(_ request: MisbehavingOrigin.Request) -> MisbehavingOrigin.Behaviour {
    state.withLock { state in
      state.record.requests.append(request)
      state.record.inFlight += 1
      state.record.peakInFlight = max(state.record.peakInFlight, state.record.inFlight)
      return state.behaviours[request.path] ?? state.fallback
    }
  }

  func endRequest() {
    state.withLock { $0.record.inFlight -= 1 }
  }

  /// Takes note of a gate that a thread is about to wait at, so that the end opens it.
  func willWait(at gate: MisbehavingOrigin.Gate) {
    let isOver = state.withLock { state in
      state.gates.append(gate)
      return state.isOver
    }
    if isOver { gate.open() }
  }
}
