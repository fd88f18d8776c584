// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import CurlTransport
import TestSupport
import Testing

@Suite("An answer by HTTP/2", .timeLimit(.minutes(1)))
struct HTTP2Tests {
  private let trust: CurlTransport.Options

  init() { trust = CurlTransport.Options(isInsecure: true, httpVersion: .http2) }

  /// Fetches an address from an origin whose every HTTP/2 connection is answered in one way, and
  /// every request by HTTP/1.1 in another.
  private func fetch(
    _ frames: MisbehavingOrigin.Behaviour, elsewise behaviour: MisbehavingOrigin.Behaviour,
    with driver: CurlTransport.Driver, recorder: Recorder = Recorder()
  ) async throws -> (answer: Recorder.Answer, record: MisbehavingOrigin.Record) {
    let origin = try MisbehavingOrigin(security: .tlsWithHTTP2)
    origin.on("*", frames)
    origin.on("/item", behaviour)
    let transport = try CurlTransport(trust, driver: driver)
    let answer = await transport.fetch(origin.url("/item"), recorder: recorder)
    return (answer, origin.record)
  }

  @Test("with a length is told as any other", arguments: CurlTransport.Driver.allCases)
  func length(_ driver: CurlTransport.Driver) async throws {
    let (answer, record) = try await fetch(
      .frames(fields: [("content-length", "5"), ("etag", "\"a\"")], body: "hello", end: .flag),
      elsewise: .status(500), with: driver)
    #expect(answer.head?.framing == .length(5))
    #expect(answer.head?.entityTag == "\"a\"")
    #expect(answer.body == "hello")
    #expect(answer.end == .complete)
    #expect(record.requests.map(\.target) == ["*"])
  }

  @Test(
    "whose stream ends before its length is reached is truncated",
    arguments: CurlTransport.Driver.allCases,
    [.flag, .reset(0), .reset(2), .reset(8), .goAway, .close]
      as [MisbehavingOrigin.Behaviour.StreamEnd])
  func cutOff(
    _ driver: CurlTransport.Driver, _ end: MisbehavingOrigin.Behaviour.StreamEnd
  ) async throws {
    let (answer, _) = try await fetch(
      .frames(fields: [("content-length", "9")], body: "hello", end: end),
      elsewise: .status(500), with: driver)
    #expect(answer.end?.reason == .truncated)
    #expect(answer.end?.remedy == .anotherAttempt)
  }

  @Test(
    "without a length is asked for again by HTTP/1.1, whose ends can be told",
    arguments: CurlTransport.Driver.allCases,
    [.flag, .reset(0), .reset(2), .goAway, .close] as [MisbehavingOrigin.Behaviour.StreamEnd])
  func withoutLength(
    _ driver: CurlTransport.Driver, _ end: MisbehavingOrigin.Behaviour.StreamEnd
  ) async throws {
    let (whole, record) = try await fetch(
      .frames(body: "hel", end: end), elsewise: .chunked(["hello"]), with: driver)
    #expect(whole.head?.framing == .chunked)
    #expect(whole.body == "hello")
    #expect(whole.end == .complete)
    #expect(record.requests.map(\.target) == ["*", "/item"])
    let (cut, _) = try await fetch(
      .frames(body: "hel", end: end), elsewise: .chunkedCutOff(["hello"]), with: driver)
    #expect(cut.end?.reason == .truncated)
  }

  @Test("that is no success needs no length", arguments: CurlTransport.Driver.allCases)
  func noSuccess(_ driver: CurlTransport.Driver) async throws {
    for status in [404, 503] {
      let (answer, record) = try await fetch(
        .frames(status: status, body: "no", end: .flag), elsewise: .status(500), with: driver,
        recorder: Recorder(decision: .discard))
      #expect(answer.head == ResponseHead(status: status, framing: .untilClose))
      #expect(answer.end == .complete)
      #expect(record.requests.count == 1)
    }
    let (moved, _) = try await fetch(
      .frames(
        status: 302, fields: [("location", "https://example.invalid/")], body: "", end: .flag),
      elsewise: .status(500), with: driver)
    #expect(moved.end == .redirect(to: "https://example.invalid/"))
  }

  @Test(
    "comes from a real server, many at once, byte for byte",
    arguments: CurlTransport.Driver.allCases)
  func server(_ driver: CurlTransport.Driver) async throws {
    let server = try Nginx(
      isSecured: true, directives: "location = /version { return 200 $server_protocol; }")
    let transport = try CurlTransport(trust, driver: driver)
    #expect(await transport.fetch(server.url(of: "version")).body == "HTTP/2.0")
    let bodies = (0..<200).map { index in
      (0..<(index * 331)).map { UInt8(truncatingIfNeeded: $0 &* index >> 2) }
    }
    for (index, body) in bodies.enumerated() { try server.put(body, at: "\(index)") }
    let result = await Batch(
      (0..<200).map { server.url(of: "\($0)") }, transport: transport
    ).run(limit: 16)
    #expect(result.ends.allSatisfy { $0 == .complete })
    let isSame = result.bodies == bodies
    #expect(isSame)
    withExtendedLifetime(transport) {}
  }

  // With several streams on a connection libcurl 7.88 mixed them up when some were left early.
  @Test("is never another item's", arguments: CurlTransport.Driver.allCases)
  func mixed(_ driver: CurlTransport.Driver) async throws {
    let transport = try CurlTransport(trust, driver: driver)
    try await MixedBodies(count: 120, step: 1701).expectAll(over: transport)
    withExtendedLifetime(transport) {}
  }

  @Test("that a gateway cuts off is truncated", arguments: CurlTransport.Driver.allCases)
  func gateway(_ driver: CurlTransport.Driver) async throws {
    let origin = try MisbehavingOrigin()
    let chunk = String(repeating: "c", count: 20_000)
    origin.on("/cut", .chunkedCutOff([chunk, chunk]))
    origin.on("/short", .endsEarly(after: 20_000, of: 40_000))
    origin.on("/whole", .chunked([chunk, chunk]))
    let server = try Nginx(
      isSecured: true,
      directives: """
        location / {
          proxy_pass http://127.0.0.1:\(origin.port);
          proxy_http_version 1.1;
          proxy_buffering off;
        }
        """)
    let transport = try CurlTransport(trust, driver: driver)
    for path in ["cut", "short"] {
      #expect(await transport.fetch(server.url(of: path)).end?.reason == .truncated)
    }
    let whole = await transport.fetch(server.url(of: "whole"))
    #expect(whole.bytes.count == 40_000)
    #expect(whole.end == .complete)
    #expect(origin.record.count(of: "/whole") == 2, "once by HTTP/2, which told no length")
  }

  @Test("is not asked for where nothing is encrypted", arguments: CurlTransport.Driver.allCases)
  func clearText(_ driver: CurlTransport.Driver) async throws {
    let origin = try MisbehavingOrigin()
    origin.on("/item", .ok("plain"))
    let transport = try CurlTransport(trust, driver: driver)
    #expect(await transport.fetch(origin.url("/item")).body == "plain")
    let head = origin.record.requests.first?.head ?? ""
    #expect(head.hasPrefix("GET /item HTTP/1.1\r\n"))
    #expect(!head.contains("Upgrade"))
  }

  @Test(
    "is not needed from a server that does not speak it", arguments: CurlTransport.Driver.allCases)
  func older(_ driver: CurlTransport.Driver) async throws {
    let origin = try MisbehavingOrigin(security: .tls)
    origin.onEverythingElse(.echoingPath)
    let transport = try CurlTransport(trust, driver: driver)
    let result = await Batch(
      (0..<40).map { origin.url("/\($0)") }, transport: transport
    ).run(limit: 8)
    #expect(result.ends.allSatisfy { $0 == .complete })
    withExtendedLifetime(transport) {}
  }

  @Test("is not spoken unless asked for", arguments: CurlTransport.Driver.allCases)
  func byDefault(_ driver: CurlTransport.Driver) async throws {
    let origin = try MisbehavingOrigin(security: .tlsWithHTTP2)
    origin.on("/item", .ok("older"))
    let transport = try CurlTransport(.init(isInsecure: true), driver: driver)
    #expect(await transport.fetch(origin.url("/item")).body == "older")
  }
}
