// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import TestSupport
import Testing

@Suite("Of every transport: a request", .timeLimit(.minutes(1)))
struct RequestTests {
  let origin: MisbehavingOrigin

  init() throws {
    origin = try MisbehavingOrigin()
    origin.onEverythingElse(.ok("fine"))
  }

  private func send(
    _ headers: [String] = [], to url: String? = nil, by transport: any Transport
  ) async throws -> MisbehavingOrigin.Request {
    let recorder = Recorder()
    let fields = try headers.map { try #require(HeaderField($0)) }
    transport.start([Transfer(url: url ?? origin.url(), headers: fields, handler: recorder)])
    #expect(await recorder.answer.end == .complete)
    return try #require(origin.record.requests.last)
  }

  @Test("is a GET for the address, and says who asks", arguments: Carrier.allCases)
  func head(_ carrier: Carrier) async throws {
    let request = try await send(
      to: origin.url("/a?b=c#d"), by: carrier.make(userAgent: "tester/1"))
    #expect(request.head.hasPrefix("GET /a?b=c HTTP/1.1\r\n"))
    #expect(request.field("Host") == "127.0.0.1:\(origin.port)")
    #expect(request.field("User-Agent") == "tester/1")
    #expect(request.field("Accept") == "*/*")
    #expect([nil, "identity"].contains(request.field("Accept-Encoding")))
    for name in ["Cookie", "Authorization", "Content-Length", "Content-Type", "Transfer-Encoding"] {
      #expect(request.field(name) == nil)
    }
  }

  @Test("says nothing that would begin a field of its own", arguments: Carrier.allCases)
  func controlCharacters(_ carrier: Carrier) {
    for agent in ["a\r\nX-Evil: 1", "a\0b", "\u{7f}"] {
      #expect(throws: (any Error).self) { try carrier.make(userAgent: agent) }
    }
  }

  @Test("asks for escapes as they are written", arguments: Carrier.allCases)
  func escapes(_ carrier: Carrier) async throws {
    let transport = try carrier.make()
    for path in [
      "/%2e%2e/d", "/e//f", "/%41%2F%c3%BC", "/a;b=c,d&e='f'(g)*!~$@:+", "/q?a=%20&b=+?/",
    ] {
      #expect(try await send(to: origin.url(path), by: transport).target == path)
    }
  }

  @Test("asks for dots in a path as they are written", arguments: Carrier.allCases)
  func dots(_ carrier: Carrier) async throws {
    try await checking(.dotsInPaths, of: carrier) {
      let transport = try carrier.make()
      for path in ["/a/../b", "/./c"] {
        #expect(try await send(to: origin.url(path), by: transport).target == path)
      }
    }
  }

  @Test("asks for what no address may hold as it is written", arguments: Carrier.allCases)
  func strange(_ carrier: Carrier) async throws {
    try await checking(.strangeCharacters, of: carrier) {
      let transport = try carrier.make()
      for path in ["/a|b", "/q?a[]=1", "/{x}", "/%zz"] {
        #expect(try await send(to: origin.url(path), by: transport).target == path)
      }
    }
  }

  @Test(
    "carries the address's name and password, and the next one does not",
    arguments: Carrier.allCases)
  func credentials(_ carrier: Carrier) async throws {
    let transport = try carrier.make()
    let url = "http://me:open%20sesame@127.0.0.1:\(origin.port)/"
    let first = try await send(to: url, by: transport)
    #expect(first.field("Authorization") == "Basic bWU6b3BlbiBzZXNhbWU=")
    #expect(!first.head.contains("sesame"))
    #expect(try await send(by: transport).field("Authorization") == nil)
    let own = try await send(["Authorization: Bearer t"], to: url, by: transport)
    #expect(own.field("Authorization") == "Bearer t")
  }

  @Test("has a transfer's own fields, and the next transfer's not", arguments: Carrier.allCases)
  func own(_ carrier: Carrier) async throws {
    let transport = try carrier.make(userAgent: "tester/1")
    let request = try await send(
      ["X-Key: a", "Range: bytes=5-", "If-Range: \"e\"", "accept: image/png", "USER-agent: other"],
      by: transport)
    #expect(request.field("X-Key") == "a")
    #expect(request.field("Range") == "bytes=5-")
    #expect(request.field("If-Range") == "\"e\"")
    #expect(request.field("Accept") == "image/png")
    #expect(request.field("User-Agent") == "other")
    let next = try await send(by: transport)
    for name in ["X-Key", "Range", "If-Range"] { #expect(next.field(name) == nil) }
    #expect(next.field("Accept") == "*/*")
    #expect(next.field("User-Agent") == "tester/1")
  }

  @Test("has fields of one name in their order, be they one field", arguments: Carrier.allCases)
  func equalNames(_ carrier: Carrier) async throws {
    let request = try await send(["X-Key: a", "X-Other: 1", "x-key: b"], by: carrier.make())
    let lines = request.head.split(separator: "\r\n").filter {
      $0.lowercased().hasPrefix("x-key:")
    }
    let values = lines.joined(separator: ",").split { ", ".contains($0) }.filter {
      $0.lowercased() != "x-key:"
    }
    #expect(values == ["a", "b"])
  }

  @Test("may have fields without a value", arguments: Carrier.allCases)
  func emptyField(_ carrier: Carrier) async throws {
    #expect(try await send(["X-Empty:"], by: carrier.make()).field("X-Empty") == "")
  }

  @Test("never announces a body", arguments: Carrier.allCases)
  func body(_ carrier: Carrier) async throws {
    let transport = try carrier.make()
    for _ in 0..<2 {
      let request = try await send(
        ["content-LENGTH: 100", "Transfer-Encoding: chunked", "X-A: 1"], by: transport)
      #expect(request.field("Content-Length") == nil)
      #expect(request.field("Transfer-Encoding") == nil)
      #expect(request.field("X-A") == "1")
    }
    #expect(origin.record.connections == 1)
  }

  @Test("goes by a connection that is there", arguments: Carrier.allCases)
  func connections(_ carrier: Carrier) async throws {
    let transport = try carrier.make()
    for _ in 0..<20 { _ = try await send(by: transport) }
    #expect(origin.record.connections == 1)
  }

  @Test("goes anew where its connection was closed meanwhile", arguments: Carrier.allCases)
  func dropped(_ carrier: Carrier) async throws {
    let transport = try carrier.make()
    for withReset in [false, true] {
      origin.onEverythingElse(.dropsAfter(2, .ok("fine"), withReset: withReset))
      for _ in 0..<8 { _ = try await send(by: transport) }
    }
  }

  @Test("does not wait for others of its host", arguments: Carrier.allCases)
  func manyAtOnce(_ carrier: Carrier) async throws {
    let gate = MisbehavingOrigin.Gate(opensAt: 60)
    origin.onEverythingElse(.held(at: gate, then: .echoingPath))
    let transport = try carrier.make()
    let recorders = (0..<60).map { _ in Recorder() }
    transport.start(
      recorders.enumerated().map { Transfer(url: origin.url("/\($0)"), handler: $1) })
    for (number, recorder) in recorders.enumerated() {
      #expect(await recorder.answer.body == "/\(number)")
    }
    #expect(origin.record.peakInFlight == 60)
  }
}
