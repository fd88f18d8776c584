// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization

/// A small server inside the program, so that no example needs a network.
///
///     let origin = try ExampleOrigin()
///     … origin.url("/profiles/7") …
///     origin.conclude(peakInFlight: 3, isRight)
///
/// It listens on 127.0.0.1, takes a little while for each answer, always the same for the same path, and
/// counts what it sees: a request is in flight from its arrival until just before its answer is sent, so
/// a client that has an answer is never counted any more. It serves until the program ends.
public final class ExampleOrigin: Sendable {
  private struct Counts {
    var requests = 0
    var inFlight = 0
    var peakInFlight = 0
  }

  private let port: UInt16
  private let milliseconds: ClosedRange<Int>
  private let counts = Mutex(Counts())

  /// Starts serving.
  ///
  /// - Parameter milliseconds: How long the quickest and the slowest answer take.
  /// - Throws: `POSIXError` if there is no port to listen on.
  public init(milliseconds: ClosedRange<Int> = 20...80) throws {
    let listener: Int32
    (listener, port) = try listenOnLoopback()
    self.milliseconds = milliseconds
    // A thread for each connection: that is how the least can be misunderstood.
    Thread.detachNewThread { [self] in
      while case let connection = accept(listener, nil, nil), connection >= 0 {
        Thread.detachNewThread { self.serve(connection) }
      }
    }
  }

  /// The address of a path here.
  public func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

  /// How many requests have arrived.
  public var requests: Int { counts.withLock(\.requests) }

  /// The most requests that were in flight at once.
  public var peakInFlight: Int { counts.withLock(\.peakInFlight) }

  /// Says what the server saw, and ends the program as a failure if that, or the result, is wrong.
  public func conclude(peakInFlight wanted: Int, _ isRight: Bool) {
    print("The origin saw \(requests) requests, and at most \(peakInFlight) in flight at once.")
    if peakInFlight == wanted, isRight { return }
    print("That is wrong: at most \(wanted) at once and all of it, that was the task.")
    exit(1)
  }

  private func serve(_ connection: Int32) {
    defer { close(connection) }
    var received: [UInt8] = []
    while let path = nextPath(from: connection, &received) {
      counts.withLock { counts in
        counts.requests += 1
        counts.inFlight += 1
        counts.peakInFlight = max(counts.peakInFlight, counts.inFlight)
      }
      Thread.sleep(forTimeInterval: Double(latency(of: path)) / 1000)
      let content = Content(of: path)
      counts.withLock { $0.inFlight -= 1 }
      let status = content == nil ? "404 Not Found" : "200 OK"
      let body = Array((content?.text ?? "There is nothing here.\n").utf8)
      let head = """
        HTTP/1.1 \(status)\r
        Content-Type: \(content?.type ?? "text/plain")\r
        Content-Length: \(body.count)\r
        \r

        """
      guard send(Array(head.utf8) + body, to: connection) else { return }
    }
  }

  /// How long an answer takes: it looks accidental and is always the same.
  private func latency(of path: String) -> Int {
    let number = path.utf8.reduce(7) { ($0 &* 31 &+ Int($1)) % 10_007 }
    return milliseconds.lowerBound + number % milliseconds.count
  }
}
