// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import Dispatch
import Synchronization
import TestSupport
import Testing

@Suite("Of every transport: an answer", .timeLimit(.minutes(1)))
struct AnswerTests {
  let origin: MisbehavingOrigin

  init() throws { origin = try MisbehavingOrigin() }

  private func fetch(
    _ behaviour: MisbehavingOrigin.Behaviour, by carrier: Carrier, recorder: Recorder = Recorder()
  ) async throws -> Recorder.Answer {
    origin.on("/item", behaviour)
    return try await carrier.make().fetch(origin.url("/item"), recorder: recorder)
  }

  @Test("of announced length is told whole", arguments: Carrier.allCases)
  func length(_ carrier: Carrier) async throws {
    let answer = try await fetch(.ok("hello"), by: carrier)
    #expect(answer.head == ResponseHead(status: 200, framing: .length(5)))
    #expect(answer.body == "hello")
    #expect(answer.end == .complete)
  }

  @Test("of three mebibytes arrives byte for byte", arguments: Carrier.allCases)
  func large(_ carrier: Carrier) async throws {
    let bytes = longBody(3 << 20)
    let answer = try await fetch(.ok(bytes), by: carrier)
    // Compared outside of #expect, which would look for the shortest way from one to the other.
    let isSame = answer.bytes == bytes
    #expect(isSame)
    #expect(answer.end == .complete)
  }

  @Test("with an empty body, or with none, has its head told", arguments: Carrier.allCases)
  func empty(_ carrier: Carrier) async throws {
    let behaviours: [(MisbehavingOrigin.Behaviour, Int)] = [(.ok(""), 200), (.noContent, 204)]
    for (behaviour, status) in behaviours {
      let answer = try await fetch(behaviour, by: carrier)
      #expect(answer.head == ResponseHead(status: status, framing: .length(0)))
      #expect(answer.bytes.isEmpty)
      #expect(answer.end == .complete)
    }
  }

  @Test(
    "that is no success is complete all the same", arguments: Carrier.allCases,
    [300, 304, 400, 401, 403, 404, 407, 416, 429, 500, 503])
  func status(_ carrier: Carrier, _ status: Int) async throws {
    let body = status == 304 ? "" : "sorry"
    let answer = try await fetch(.status(status, body), by: carrier)
    #expect(answer.head?.status == status)
    #expect(answer.body == body)
    #expect(answer.end == .complete)
  }

  @Test(
    "that asks for a password is told, and nobody is asked for one", arguments: Carrier.allCases)
  func challenge(_ carrier: Carrier) async throws {
    for scheme in ["Basic realm=\"x\"", "Digest realm=\"x\", nonce=\"n\"", "Negotiate", "Odd"] {
      let answer = try await fetch(
        .raw(
          "HTTP/1.1 401 No\r\nWWW-Authenticate: \(scheme)\r\nContent-Length: 2\r\n\r\nno"),
        by: carrier)
      #expect(answer.head?.status == 401, "\(scheme)")
      #expect(answer.body == "no")
      #expect(answer.end == .complete, "\(scheme)")
    }
    #expect(origin.record.requests.allSatisfy { $0.field("Authorization") == nil })
    #expect(origin.record.requests.count == 4)
  }

  @Test("in chunks is told without them", arguments: Carrier.allCases)
  func chunked(_ carrier: Carrier) async throws {
    let answer = try await fetch(.chunked(["one ", "two ", "three"]), by: carrier)
    #expect(answer.head == ResponseHead(status: 200, framing: .chunked))
    #expect(answer.body == "one two three")
    #expect(answer.end == .complete)
  }

  @Test("in chunks has no other length", arguments: Carrier.allCases, ["3", "99"])
  func chunkedWithLength(_ carrier: Carrier, _ length: String) async throws {
    let answer = try await fetch(
      .chunked(["12345"], fields: "Content-Length: \(length)\r\n"), by: carrier)
    #expect(answer.end == .complete && answer.body == "12345" && answer.head?.framing == .chunked)
  }

  @Test("in chunks may have trailers", arguments: Carrier.allCases)
  func trailers(_ carrier: Carrier) async throws {
    try await checking(.trailers, of: carrier) {
      let answer = try await fetch(
        .raw(
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
            + "2\r\nab\r\n0\r\nX-Sum: 7\r\n\r\n"), by: carrier)
      #expect(answer.body == "ab")
      #expect(answer.end == .complete)
    }
  }

  @Test("without a length ends with its connection", arguments: Carrier.allCases, ["1.0", "1.1"])
  func untilClose(_ carrier: Carrier, _ version: String) async throws {
    let answer = try await fetch(.untilClose("all of it", version: version), by: carrier)
    #expect(answer.head == ResponseHead(status: 200, framing: .untilClose))
    #expect(answer.body == "all of it")
    #expect(answer.end == .complete)
  }

  @Test("may come after interim ones, which are not told", arguments: Carrier.allCases)
  func interim(_ carrier: Carrier) async throws {
    let answer = try await fetch(.interim([100, 103, 103], then: .ok("final")), by: carrier)
    #expect(answer.head == ResponseHead(status: 200, framing: .length(5)))
    #expect(answer.body == "final")
    #expect(answer.end == .complete)
  }

  @Test("may repeat one and the same length", arguments: Carrier.allCases)
  func equalLengths(_ carrier: Carrier) async throws {
    for lengths in [["4", "4"], ["4, 4"]] {
      let answer = try await fetch(.lengths(lengths, body: "same"), by: carrier)
      #expect(answer.head?.framing == .length(4))
      #expect(answer.end == .complete)
    }
  }

  @Test("longer than announced ends at the announced length", arguments: Carrier.allCases)
  func longer(_ carrier: Carrier) async throws {
    let answer = try await fetch(.lengths(["3"], body: "123456"), by: carrier)
    #expect(answer.body == "123")
    #expect(answer.end == .complete)
  }

  @Test("tells what its fields say", arguments: Carrier.allCases)
  func fields(_ carrier: Carrier) async throws {
    let answer = try await fetch(
      .answer(
        206,
        fields: [
          "ETag: \"a b\"", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT",
          "Date: Sun, 06 Nov 1994 08:50:37 GMT", "Content-Type: Image/PNG; q=1",
          "Content-Range: bytes 5-7/8", "Retry-After: 120",
        ], Array("abc".utf8)), by: carrier)
    var head = ResponseHead(status: 206, framing: .length(3))
    head.entityTag = "\"a b\""
    head.lastModified = "Sun, 06 Nov 1994 08:49:37 GMT"
    head.age = 60
    head.mediaType = "image/png"
    head.contentRange = ContentRange(bytes: 5..<8, total: 8)
    head.retryAfter = .seconds(120)
    #expect(answer.head == head)
    #expect(answer.body == "abc")
  }

  @Test("is not kept: the next request brings the next one", arguments: Carrier.allCases)
  func cache(_ carrier: Carrier) async throws {
    let fields = [
      "Cache-Control: max-age=3600", "Set-Cookie: a=b; Path=/", "ETag: \"1\"",
      "Date: Sun, 06 Nov 2094 08:50:37 GMT",
    ]
    let transport = try carrier.make()
    origin.on("/item", .answer(fields: fields, Array("first".utf8)))
    #expect(await transport.fetch(origin.url("/item")).body == "first")
    origin.on("/item", .answer(fields: fields, Array("second".utf8)))
    #expect(await transport.fetch(origin.url("/item")).body == "second")
    for request in origin.record.requests {
      #expect(request.field("Cookie") == nil)
      #expect(request.field("If-None-Match") == nil)
    }
  }

  @Test(
    "whose body was encoded unasked is stored as it was sent, or fails", arguments: Carrier.allCases
  )
  func encoded(_ carrier: Carrier) async throws {
    // The word "hello", by gzip.
    let bytes: [UInt8] = [
      0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0x86, 0xa6, 0x10,
      0x36, 5, 0, 0, 0,
    ]
    let answer = try await fetch(.answer(fields: ["Content-Encoding: gzip"], bytes), by: carrier)
    let request = origin.record.requests.last
    #expect([nil, "identity"].contains(request?.field("Accept-Encoding")))
    #expect(answer.end == .complete ? answer.bytes == bytes : answer.end?.reason == .protocol)
    let plain = try await fetch(
      .answer(fields: ["Content-Encoding: identity"], Array("plain".utf8)), by: carrier)
    #expect(plain.body == "plain" && plain.end == .complete)
  }

  @Test("whose handler is slow is sent as slowly", arguments: Carrier.allCases)
  func slow(_ carrier: Carrier) async throws {
    let everythingSent = DispatchSemaphore(value: 0)
    origin.on(
      "/item",
      MisbehavingOrigin.Behaviour { exchange in
        let piece = [UInt8](repeating: 1, count: 1 << 20)
        exchange.send("HTTP/1.1 200 OK\r\nContent-Length: \(64 << 20)\r\n\r\n")
        for _ in 0..<64 where !exchange.sendSome(piece) { return }
        everythingSent.signal()
      })
    // Its first piece is not taken before all of it was sent, or nobody would ever send all of it.
    let result = Mutex<DispatchTimeoutResult?>(nil)
    let recorder = Recorder(onBody: { _ in
      result.withLock { result in
        if result == nil { result = everythingSent.wait(timeout: .now() + 2) }
      }
      return false
    })
    #expect(
      try await carrier.make().fetch(origin.url("/item"), recorder: recorder).end == .cancelled)
    try await checking(.slowHandlerSlowsServer, of: carrier) {
      #expect(result.withLock { $0 } == .timedOut)
    }
  }

  // MARK: What the handler decides

  @Test("that is refused in its body ends as cancelled", arguments: Carrier.allCases)
  func refused(_ carrier: Carrier) async throws {
    let answer = try await fetch(
      .ok("never wanted"), by: carrier, recorder: Recorder(onBody: { _ in false }))
    #expect(answer.end == .cancelled)
  }

  @Test("whose body is discarded tells only its head", arguments: Carrier.allCases)
  func discarded(_ carrier: Carrier) async throws {
    for behaviour: MisbehavingOrigin.Behaviour in [
      .status(404, "no"), .ok([UInt8](repeating: 1, count: 500_000)), .untilClose("endless"),
      .chunked([String](repeating: String(repeating: "c", count: 9000), count: 20)),
      .endsEarly(after: 3, of: 10), .resets(.inBody),
    ] {
      let answer = try await fetch(behaviour, by: carrier, recorder: Recorder(decision: .discard))
      #expect(answer.head != nil)
      #expect(answer.bytes.isEmpty)
      #expect(answer.end == .complete)
    }
  }
}
