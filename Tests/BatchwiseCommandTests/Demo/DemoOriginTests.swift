// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Dispatch
import TestSupport
import Testing

@testable import BatchwiseCommand

@Suite("The demo's origin", .timeLimit(.minutes(1)))
struct DemoOriginTests {
  @Test("It serves each picture under its own address")
  func serves() throws {
    let origin = try DemoOrigin(latencyScale: 0)
    for (index, url) in origin.urls.enumerated() {
      let number = index + 1
      #expect(url == "http://127.0.0.1:\(origin.port)\(path(of: number))")
      let answer = try ask(origin, for: path(of: number))
      #expect(answer.status == "HTTP/1.1 200 OK")
      #expect(answer.headers.contains("Content-Type: image/png"))
      #expect(answer.headers.contains("Content-Length: \(answer.body.count)"))
      #expect(answer.body == DemoPicturesTests.pictures[index])
    }
    #expect(origin.requests == 20)
  }

  @Test(
    "Anything else is not found",
    arguments: [
      "/", "/pictures/", "/pictures/00.png", "/pictures/21.png", "/pictures/1.png",
      "/pictures/01.png/", "/../etc/passwd",
    ])
  func notFound(path: String) throws {
    let origin = try DemoOrigin(latencyScale: 0)
    let answer = try ask(origin, for: path)
    #expect(answer.status == "HTTP/1.1 404 Not Found")
    #expect(origin.requests == 1)
    #expect(origin.inFlight == 0)
  }

  @Test("A request with a body is answered, and counted once")
  func body() throws {
    let origin = try DemoOrigin(latencyScale: 0)
    let connection = try LoopbackConnection(port: origin.port)
    try connection.send(
      "POST /pictures/01.png HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        + "Content-Length: 5\r\n\r\nhello")
    #expect(Answer(try connection.readToEnd()).status == "HTTP/1.1 404 Not Found")
    #expect(origin.requests == 1)
  }

  @Test("The peak in flight equals the number of clients at once", arguments: [1, 3, 20])
  func peak(clients: Int) throws {
    let gate = Gate()
    let origin = try DemoOrigin(picture: { number in
      gate.pass()
      return [UInt8(number)]
    })
    var connections: [LoopbackConnection] = []
    for number in 1...clients {
      let connection = try LoopbackConnection(port: origin.port)
      try connection.sendRequest(for: path(of: number))
      connections.append(connection)
    }
    try gate.waitForArrivals(clients)
    #expect(origin.inFlight == clients)
    gate.open(times: clients)
    var answers: [[UInt8]] = []
    for connection in connections {
      answers.append(Answer(try connection.readToEnd()).body)
    }
    #expect(answers == (1...clients).map { [UInt8($0)] })
    // Every answer is here, so nothing is in flight, and what comes later adds nothing to the peak.
    #expect(origin.inFlight == 0)
    gate.open(times: 1)
    _ = try ask(origin, for: path(of: 1))
    #expect(origin.peakInFlight == clients)
    #expect(origin.requests == clients + 1)
  }

  @Test("A client that holds its answer is not in flight any more")
  func countsDownFirst() throws {
    let origin = try DemoOrigin(picture: { _ in [] })
    for _ in 0..<100 {
      _ = try ask(origin, for: path(of: 1))
    }
    #expect(origin.peakInFlight == 1)
  }

  @Test("Each picture has a latency of its own between 150 and 600 ms")
  func latencies() {
    let latencies = (1...DemoPictures.count).map(DemoOrigin.latency)
    #expect(latencies.min() == .milliseconds(150))
    #expect(latencies.max() == .milliseconds(600))
    #expect(Set(latencies).count == DemoPictures.count)
  }

  @Test("After stopping, the port is free")
  func stop() throws {
    let origin = try DemoOrigin(latencyScale: 0)
    _ = try ask(origin, for: path(of: 1))
    origin.stop()
    origin.stop()
    let successor = try LoopbackListener(port: origin.port)
    #expect(successor.port == origin.port)
  }

  @Test("An origin that nobody holds any more stops by itself")
  func stopsWithItsOwner() throws {
    let port = try DemoOrigin(latencyScale: 0).port
    let successor = try LoopbackListener(port: port)
    #expect(successor.port == port)
  }

  @Test("It listens on 127.0.0.1 alone")
  func loopbackOnly() throws {
    let origin = try DemoOrigin(latencyScale: 0)
    // A socket that listens on every address of the machine would answer here too.
    let failure = #expect(throws: SystemFailure.self) {
      try LoopbackConnection(port: origin.port, address: "127.0.0.2")
    }
    #expect(failure?.call == "connect")
    #expect(try ask(origin, for: path(of: 1)).status == "HTTP/1.1 200 OK")
  }

  @Test("Two origins do not get in each other's way")
  func two() throws {
    let first = try DemoOrigin(latencyScale: 0)
    let second = try DemoOrigin(latencyScale: 0)
    #expect(first.port != second.port)
    _ = try ask(first, for: path(of: 1))
    #expect(first.requests == 1)
    #expect(second.requests == 0)
  }
}

private func ask(_ origin: DemoOrigin, for path: String, method: String = "GET") throws -> Answer {
  let connection = try LoopbackConnection(port: origin.port)
  try connection.sendRequest(for: path, method: method)
  return Answer(try connection.readToEnd())
}

private func path(of number: Int) -> String {
  "/pictures/\(number < 10 ? "0" : "")\(number).png"
}

/// Holds the origin's threads until the test lets them through.
private final class Gate: Sendable {
  private let arrivals = DispatchSemaphore(value: 0)
  private let permits = DispatchSemaphore(value: 0)

  func pass() {
    arrivals.signal()
    _ = permits.wait(timeout: .now() + 20)  // a test that has failed is not waited for
  }

  func waitForArrivals(_ count: Int) throws {
    for _ in 0..<count {
      try #require(arrivals.wait(timeout: .now() + 20) == .success)
    }
  }

  func open(times: Int) {
    for _ in 0..<times { permits.signal() }
  }
}

/// An answer as it came off the wire, taken apart.
private struct Answer {
  let status: String
  let headers: [String]
  let body: [UInt8]

  init(_ bytes: [UInt8]) {
    let end = Array("\r\n\r\n".utf8)
    let headEnd = bytes.indices.first { bytes[$0...].starts(with: end) } ?? bytes.endIndex
    let lines = String(decoding: bytes[..<headEnd], as: UTF8.self).split(separator: "\r\n")
    status = lines.first.map(String.init) ?? ""
    headers = lines.dropFirst().map(String.init)
    body = Array(bytes[headEnd...].dropFirst(end.count))
  }
}
