// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import CurlTransport
import TestSupport
import Testing

@Suite("A connection", .timeLimit(.minutes(1)))
struct ConnectionTests {
  let origin: MisbehavingOrigin

  init() throws { origin = try MisbehavingOrigin() }

  @Test("serves one transfer after the other", arguments: CurlTransport.Driver.allCases)
  func reuse(_ driver: CurlTransport.Driver) async throws {
    origin.on("/", .ok("again"))
    origin.on("/empty", .ok(""))
    origin.on("/none", .noContent)
    let transport = try CurlTransport(driver: driver)
    for path in ["/", "/empty", "/", "/none", "/"] {
      #expect(await transport.fetch(origin.url(path)).end == .complete)
    }
    #expect(origin.record.connections == 1)
    #expect(origin.record.requests.count == 5, "an empty body is no reason to ask twice")
  }

  @Test(
    "lives on when a short body was not wanted, and not after a long one",
    arguments: CurlTransport.Driver.allCases)
  func discard(_ driver: CurlTransport.Driver) async throws {
    origin.on("/short", .status(404, String(repeating: "n", count: 60_000)))
    origin.on("/long", .status(404, String(repeating: "n", count: 600_000)))
    let transport = try CurlTransport(driver: driver)
    for path in ["/short", "/short", "/long", "/short"] {
      let answer = await transport.fetch(origin.url(path), recorder: Recorder(decision: .discard))
      #expect(answer.end == .complete)
    }
    #expect(origin.record.requests.map(\.connection) == [1, 1, 1, 2])
  }

  @Test(
    "that died while it was idle is replaced, however often that happens",
    arguments: CurlTransport.Driver.allCases)
  func dead(_ driver: CurlTransport.Driver) async throws {
    // Every second request finds a connection that is dropped as soon as it arrives.
    for withReset in [false, true] {
      origin.on("/", .dropsAfter(1, .ok("there"), withReset: withReset))
      let transport = try CurlTransport(driver: driver)
      for _ in 0..<40 {
        let answer = await transport.fetch(origin.url())
        #expect(answer.body == "there")
        #expect(answer.end == .complete)
      }
    }
  }

  @Test("that is new and dies is not replaced", arguments: CurlTransport.Driver.allCases)
  func deadAtOnce(_ driver: CurlTransport.Driver) async throws {
    origin.on("/", .closes(.beforeHead))
    let transport = try CurlTransport(driver: driver)
    #expect(await transport.fetch(origin.url()).end?.reason == .truncated)
    #expect(origin.record.requests.count == 1)
  }

  // Only the driver that libcurl tells of its sockets can see to the next two. libcurl does so by
  // itself from version 8.0 on, which every system has that is left to the other driver.

  @Test("with stray bytes gives nobody another's body", arguments: [1, 20_000, 400_000])
  func stray(_ size: Int) async throws {
    // The stray bytes are a whole answer, and one that would pass for the next request's.
    let wrong = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong"
    let body = String(repeating: "b", count: size)
    let chunk = "\(String(size, radix: 16))\r\n\(body)\r\n0\r\n\r\n"
    let transport = try CurlTransport(driver: .preferred)
    origin.on("/next", .ok("right"))
    for head in ["Content-Length: \(size)\r\n\r\n\(body)", "Transfer-Encoding: chunked\r\n\r\n\(chunk)"] {
      origin.on("/stray", .raw("HTTP/1.1 200 OK\r\n\(head)\(wrong)"))
      for _ in 0..<10 {
        #expect(await transport.fetch(origin.url("/stray")).body == body)
        #expect(await transport.fetch(origin.url("/next")).body == "right")
      }
    }
  }

  @Test("with stray bytes that come late gives nobody another's body")
  func lateStray() async throws {
    let gate = MisbehavingOrigin.Gate()
    let sent = MisbehavingOrigin.Gate()
    origin.on("/next", .ok("right"))
    origin.on(
      "/stray",
      .init { exchange in
        exchange.sendLast("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        exchange.wait(at: gate)
        exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong")
        exchange.wait(at: sent)
      })
    let transport = try CurlTransport(driver: .preferred)
    #expect(await transport.fetch(origin.url("/stray")).body == "ok")
    gate.open()
    await sent.arrivals(1)
    sent.open()
    #expect(await transport.fetch(origin.url("/next")).body == "right")
    #expect(origin.record.connections == 2)
  }

  @Test("that is idle costs nothing, even if its server closes it")
  func idle() async throws {
    let gate = MisbehavingOrigin.Gate()
    let closed = MisbehavingOrigin.Gate()
    origin.on(
      "/",
      .init { exchange in
        exchange.sendLast("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        exchange.wait(at: gate)
        exchange.close()
        exchange.wait(at: closed)
      })
    let slow = MisbehavingOrigin.Gate()
    origin.on("/slow", .held(at: slow, then: .ok("done")))
    let transport = try CurlTransport(driver: .preferred)
    let recorders = (0..<8).map { _ in Recorder() }
    transport.start(recorders.map { Transfer(url: origin.url(), handler: $0) })
    for recorder in recorders { #expect(await recorder.answer.end == .complete) }
    let before = transport.rounds
    gate.open()
    await closed.arrivals(8)
    closed.open()
    // A whole exchange afterwards, so that the loop has had every reason to turn.
    let pending = Recorder()
    transport.start([Transfer(url: origin.url("/slow"), handler: pending)])
    await slow.arrivals(1)
    slow.open()
    #expect(await pending.answer.body == "done")
    #expect(transport.rounds - before < 100)
  }
}
