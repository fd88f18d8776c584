// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import CurlTransport
import Dispatch
import Synchronization
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

  @Test(
    "whose server sends more than it announced spoils no other item",
    arguments: CurlTransport.Driver.allCases, [1, 3, 16])
  func overlong(_ driver: CurlTransport.Driver, _ limit: Int) async throws {
    // Most of what is too much is on its way, or unread, when the next item is begun.
    let body = String(repeating: "b", count: 300_000)
    let chunks = "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n"
    let head = "HTTP/1.1 200 OK\r\n"
    origin.on("/length", .lengths(["200000"], body: body, closing: false))
    origin.on(
      "/chunks", .raw("\(head)Transfer-Encoding: chunked\r\n\r\n\(chunks)\(body)"))
    origin.on("/empty", .raw("\(head)Content-Length: 0\r\n\r\n\(body)"))
    origin.on("/next", .ok("right"))
    let bad = ["/length": 200_000, "/chunks": 300_000, "/empty": 0]
    let paths = (0..<10).flatMap { _ in ["/length", "/next", "/chunks", "/next", "/empty", "/next"]
    }
    let transport = try CurlTransport(driver: driver)
    let result = await Batch(paths.map { origin.url($0) }, transport: transport).run(limit: limit)
    withExtendedLifetime(transport) {}
    for (index, path) in paths.enumerated() {
      #expect(result.ends[index] == .complete)
      #expect(result.bodies[index].count == bad[path] ?? 5)
    }
  }

  // Only the driver that libcurl tells of its sockets can see to the next two. libcurl does so by
  // itself from version 8.0 on, which every system has that is left to the other driver.

  @Test("with an answer that nobody asked for gives it to nobody")
  func stray() async throws {
    let sent = MisbehavingOrigin.Gate()
    let body = String(repeating: "b", count: 100_000)
    origin.on("/next", .ok("right"))
    origin.on(
      "/stray",
      .init { exchange in
        exchange.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n")
        exchange.send("\(body)HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong")
        exchange.wait(at: sent)
      })
    let transport = try CurlTransport(driver: .preferred)
    let next = Recorder()
    // The loop is held up until everything has been sent, and then has no time to wait: the next
    // item is begun in the moment in which this one ends.
    let allSent = DispatchSemaphore(value: 0)
    let isFirst = Atomic(true)
    let first = Recorder(
      onBody: { _ in
        if isFirst.exchange(false, ordering: .relaxed) { allSent.wait() }
        return true
      },
      onFinish: { [origin, unowned transport] _, _ in
        transport.start([Transfer(url: origin.url("/next"), handler: next)])
      })
    transport.start([Transfer(url: origin.url("/stray"), handler: first)])
    await sent.arrivals(1)
    sent.open()
    allSent.signal()
    #expect(await first.answer.bytes.count == 100_000)
    #expect(await next.answer.body == "right")
    #expect(origin.record.connections == 2)
    withExtendedLifetime(transport) {}
  }

  @Test("with an answer that comes late gives it to nobody")
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
