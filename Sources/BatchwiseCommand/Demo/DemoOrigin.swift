// SPDX-License-Identifier: Apache-2.0

import CMicrohttpd
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A small origin inside the program: it serves the demo's pictures to this machine, slowly.
///
/// Each picture has a latency of its own, always the same, so that the demo looks like a download
/// from far away and still needs no network. The origin counts what it sees: a request is in
/// flight from its arrival until just before its answer is handed over, so a client that holds an
/// answer is never counted any more, and the peak can be trusted not to be too high.
final class DemoOrigin: Sendable {
  /// The port of 127.0.0.1 that it listens on, chosen by the system.
  let port: UInt16

  private let service: DemoService
  /// The running daemon; `nil` once stopped.
  private let daemon: Mutex<OpaquePointer?>

  /// Starts serving.
  ///
  /// - Parameter latencyScale: What every latency is multiplied by; 0 answers at once.
  /// - Throws: ``CannotServe`` if there is no socket or no thread to be had.
  convenience init(latencyScale: Double = 1) throws(CannotServe) {
    try self.init { number in
      pause(for: DemoOrigin.latency(of: number) * latencyScale)
      return DemoPictures.png(number)
    }
  }

  /// Starts serving pictures of another making: a test decides itself what is sent, and when.
  ///
  /// - Parameter picture: Makes the picture with a number. It is called on the thread of the
  ///   connection that asks, and may block it for as long as the answer shall take.
  /// - Throws: ``CannotServe`` if there is no socket or no thread to be had.
  init(picture: @escaping @Sendable (_ number: Int) -> [UInt8]) throws(CannotServe) {
    service = DemoService(picture: picture)
    // The pointer is not retained: only the daemon's threads use it, stopping the daemon waits for all
    // of them, and `deinit` does so before the service is let go.
    let context = Unmanaged.passUnretained(service).toOpaque()
    let started = batchwise_mhd_start_on_loopback(0, connectionLimit, DemoOrigin.respond, context)
    guard let started else { throw CannotServe(errno: errno) }
    port = batchwise_mhd_port(started)
    daemon = Mutex(started)
  }

  deinit {
    stop()
  }

  /// The addresses of all pictures, in order.
  var urls: [String] {
    (1...DemoPictures.count).map { "http://127.0.0.1:\(port)\(DemoService.path(of: $0))" }
  }

  /// How many requests have arrived, those for unknown paths too.
  var requests: Int { service.counts.withLock(\.requests) }

  /// How many requests are in flight at this moment, as the origin sees it.
  var inFlight: Int { service.counts.withLock(\.inFlight) }

  /// The most requests that were in flight at once, as the origin saw it.
  var peakInFlight: Int { service.counts.withLock(\.peakInFlight) }

  /// Stops serving: closes the port and all connections, and waits for what is in flight.
  ///
  /// That takes no longer than the longest latency. Stopping twice does no harm.
  func stop() {
    let running = daemon.withLock { daemon in
      defer { daemon = nil }
      return daemon
    }
    if let running { MHD_stop_daemon(running) }
  }

  /// How long the answer to a picture's request takes: 150 to 600 ms.
  ///
  /// Seven and twenty have no common divisor, so the twenty pictures take all twenty steps of that
  /// range, in an order that looks accidental.
  static func latency(of number: Int) -> Duration {
    .milliseconds(150 + 450 * (number * 7 % DemoPictures.count) / (DemoPictures.count - 1))
  }

  private static let respond: MHD_AccessHandlerCallback = {
    context, connection, path, method, _, _, uploadSize, requestState in
    guard let context, let connection, let path, let method, let uploadSize, let requestState
    else { return .NO }
    // The first call for a request has only read its head, and an answer must wait for the second.
    if requestState.pointee == nil {
      requestState.pointee = context
      return .YES
    }
    if uploadSize.pointee > 0 {
      uploadSize.pointee = 0  // a body that nobody asked for, read and forgotten
      return .YES
    }
    let service = Unmanaged<DemoService>.fromOpaque(context).takeUnretainedValue()
    let answer = service.answer(method: String(cString: method), path: String(cString: path))
    return send(answer, on: connection)
  }

  private static func send(_ answer: DemoService.Answer, on connection: OpaquePointer) -> MHD_Result
  {
    var body = answer.body
    let response = MHD_create_response_from_buffer(body.count, &body, .RESPMEM_MUST_COPY)
    guard let response else { return .NO }
    defer { MHD_destroy_response(response) }  // ends this hold on it; the connection has its own
    MHD_add_response_header(response, "Content-Type", answer.type)
    return MHD_queue_response(connection, answer.status, response)
  }

  /// Why the origin could not be started.
  struct CannotServe: Error, CustomStringConvertible {
    var errno: Int32

    var description: String {
      "the demo cannot open a port of its own on this machine: \(String(cString: strerror(errno)))"
    }
  }
}

/// Far more connections than the demo opens; a bound on threads all the same.
private let connectionLimit: UInt32 = 128

/// What the origin answers, and what it has counted.
private final class DemoService: Sendable {
  struct Counts {
    var requests = 0
    var inFlight = 0
    var peakInFlight = 0
  }

  struct Answer {
    var status: UInt32
    var type: String
    var body: [UInt8]
  }

  let counts = Mutex(Counts())
  private let picture: @Sendable (Int) -> [UInt8]

  init(picture: @escaping @Sendable (Int) -> [UInt8]) {
    self.picture = picture
  }

  static func path(of number: Int) -> String {
    "/pictures/\(number < 10 ? "0" : "")\(number).png"
  }

  func answer(method: String, path: String) -> Answer {
    counts.withLock {
      $0.requests += 1
      $0.inFlight += 1
      $0.peakInFlight = max($0.peakInFlight, $0.inFlight)
    }
    defer { counts.withLock { $0.inFlight -= 1 } }

    let number = (1...DemoPictures.count).first { DemoService.path(of: $0) == path }
    guard let number, method == "GET" || method == "HEAD" else {
      return Answer(status: 404, type: "text/plain", body: Array("No such picture.\n".utf8))
    }
    return Answer(status: 200, type: "image/png", body: picture(number))
  }
}

/// Blocks the calling thread, which belongs to one connection and has nothing else to do.
private func pause(for duration: Duration) {
  let (seconds, attoseconds) = duration.components
  var wanted = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
  var left = timespec()
  while nanosleep(&wanted, &left) != 0 && errno == EINTR {
    wanted = left
  }
}
