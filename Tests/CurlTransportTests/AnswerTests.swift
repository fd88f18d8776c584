// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import CurlTransport
import TestSupport
import Testing

@Suite("An answer", .timeLimit(.minutes(1)))
struct AnswerTests {
  let origin: MisbehavingOrigin

  init() throws { origin = try MisbehavingOrigin() }

  private func fetch(
    _ behaviour: MisbehavingOrigin.Behaviour, with driver: CurlTransport.Driver,
    recorder: Recorder = Recorder()
  ) async throws -> Recorder.Answer {
    origin.on("/item", behaviour)
    return try await CurlTransport(driver: driver).fetch(origin.url("/item"), recorder: recorder)
  }

  // MARK: Good ones

  @Test("of announced length is told whole", arguments: CurlTransport.Driver.allCases)
  func length(_ driver: CurlTransport.Driver) async throws {
    let answer = try await fetch(.ok("hello"), with: driver)
    #expect(answer.head == ResponseHead(status: 200, framing: .length(5)))
    #expect(answer.body == "hello")
    #expect(answer.end == .complete)
  }

  @Test("of a mebibyte arrives byte for byte", arguments: CurlTransport.Driver.allCases)
  func large(_ driver: CurlTransport.Driver) async throws {
    let bytes = (0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    let answer = try await fetch(.ok(bytes), with: driver)
    // Compared outside of #expect, which would look for the shortest way from one to the other.
    let isSame = answer.bytes == bytes
    #expect(isSame)
    #expect(answer.end == .complete)
  }

  @Test("with an empty body has its head told", arguments: CurlTransport.Driver.allCases)
  func empty(_ driver: CurlTransport.Driver) async throws {
    let answer = try await fetch(.ok(""), with: driver)
    #expect(answer.head == ResponseHead(status: 200, framing: .length(0)))
    #expect(answer.bytes.isEmpty)
    #expect(answer.end == .complete)
  }

  @Test("of status 204 has no body", arguments: CurlTransport.Driver.allCases)
  func noContent(_ driver: CurlTransport.Driver) async throws {
    let answer = try await fetch(.noContent, with: driver)
    #expect(answer.head == ResponseHead(status: 204, framing: .length(0)))
    #expect(answer.end == .complete)
  }

  @Test(
    "that is no success is complete all the same", arguments: CurlTransport.Driver.allCases,
    [404, 500, 503, 429])
  func status(_ driver: CurlTransport.Driver, _ status: Int) async throws {
    let answer = try await fetch(.status(status, "sorry"), with: driver)
    #expect(answer.head?.status == status)
    #expect(answer.body == "sorry")
    #expect(answer.end == .complete)
  }

  @Test("in chunks is told without them", arguments: CurlTransport.Driver.allCases)
  func chunked(_ driver: CurlTransport.Driver) async throws {
    let answer = try await fetch(.chunked(["one ", "two ", "three"]), with: driver)
    #expect(answer.head == ResponseHead(status: 200, framing: .chunked))
    #expect(answer.body == "one two three")
    #expect(answer.end == .complete)
  }

  @Test(
    "in chunks has no other length", arguments: CurlTransport.Driver.allCases, ["3", "99", "x"])
  func chunkedWithLength(_ driver: CurlTransport.Driver, _ length: String) async throws {
    let field = "Content-Length: \(length)\r\n"
    let after = try await fetch(.chunked(["12345"], fields: field), with: driver)
    let before = try await fetch(
      .raw(
        "HTTP/1.1 200 OK\r\n\(field)Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n"),
      with: driver)
    // libcurl itself refuses letters, whatever else the head says.
    if length == "x" {
      #expect(after.end?.reason == .protocol)
      #expect(before.end?.reason == .protocol)
    } else {
      #expect(after.end == .complete && after.body == "12345" && after.head?.framing == .chunked)
      #expect(before.end == .complete && before.body == "12345")
    }
  }

  @Test("in chunks may have trailers", arguments: CurlTransport.Driver.allCases)
  func trailers(_ driver: CurlTransport.Driver) async throws {
    let answer = try await fetch(
      .raw(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
          + "2\r\nab\r\n0\r\nX-Sum: 7\r\nContent-Length: 9\r\n\r\n"), with: driver)
    #expect(answer.body == "ab")
    #expect(answer.end == .complete)
  }

  @Test(
    "without a length ends with its connection", arguments: CurlTransport.Driver.allCases,
    ["1.0", "1.1"])
  func untilClose(_ driver: CurlTransport.Driver, _ version: String) async throws {
    let answer = try await fetch(.untilClose("all of it", version: version), with: driver)
    #expect(answer.head == ResponseHead(status: 200, framing: .untilClose))
    #expect(answer.body == "all of it")
    #expect(answer.end == .complete)
  }

  @Test("by HTTP/1.0 may announce a length", arguments: CurlTransport.Driver.allCases)
  func oldWithLength(_ driver: CurlTransport.Driver) async throws {
    let answer = try await fetch(
      .raw("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nold", closing: true), with: driver)
    #expect(answer.head?.framing == .length(3))
    #expect(answer.end == .complete)
  }

  @Test("may come after interim ones", arguments: CurlTransport.Driver.allCases)
  func interim(_ driver: CurlTransport.Driver) async throws {
    let answer = try await fetch(.interim([100, 103, 103], then: .ok("final")), with: driver)
    #expect(answer.head == ResponseHead(status: 200, framing: .length(5)))
    #expect(answer.body == "final")
    #expect(answer.end == .complete)
  }

  @Test("may repeat one and the same length", arguments: CurlTransport.Driver.allCases)
  func equalLengths(_ driver: CurlTransport.Driver) async throws {
    for lengths in [["4", "4"], ["4, 4"]] {
      let answer = try await fetch(.lengths(lengths, body: "same"), with: driver)
      #expect(answer.head?.framing == .length(4))
      #expect(answer.end == .complete)
    }
  }

  // MARK: Bad ones

  @Test("that ends early is truncated", arguments: CurlTransport.Driver.allCases)
  func endsEarly(_ driver: CurlTransport.Driver) async throws {
    let answer = try await fetch(.endsEarly(after: 7, of: 10), with: driver)
    #expect(answer.body == "xxxxxxx")
    #expect(answer.end?.reason == .truncated)
  }

  @Test("that loses its last chunk is truncated", arguments: CurlTransport.Driver.allCases)
  func chunkedCutOff(_ driver: CurlTransport.Driver) async throws {
    let answer = try await fetch(.chunkedCutOff(["one", "two"]), with: driver)
    #expect(answer.body == "onetwo")
    #expect(answer.end?.reason == .truncated)
  }

  @Test("in broken chunks breaks the rules", arguments: CurlTransport.Driver.allCases)
  func brokenChunks(_ driver: CurlTransport.Driver) async throws {
    let answer = try await fetch(
      .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\nzz\r\n"), with: driver)
    #expect(answer.end?.reason == .protocol)
  }

  @Test(
    "longer than announced ends at the announced length",
    arguments: CurlTransport.Driver.allCases)
  func longer(_ driver: CurlTransport.Driver) async throws {
    let answer = try await fetch(.lengths(["3"], body: "123456"), with: driver)
    #expect(answer.body == "123")
    #expect(answer.end == .complete)
  }

  @Test(
    "of a doubtful length is never a success", arguments: CurlTransport.Driver.allCases,
    [["6", "3"], ["3", "6"], ["3, 6"], ["3x"], ["-3"], [""], ["3", ""], ["9999999999999999999"]])
  func doubtfulLength(_ driver: CurlTransport.Driver, _ lengths: [String]) async throws {
    let answer = try await fetch(.lengths(lengths, body: "123456"), with: driver)
    #expect(answer.end?.reason == .protocol)
    #expect(answer.bytes.isEmpty)
  }

  @Test(
    "cut off by a close or a reset is truncated", arguments: CurlTransport.Driver.allCases,
    MisbehavingOrigin.Place.allCases)
  func cutOff(_ driver: CurlTransport.Driver, _ place: MisbehavingOrigin.Place) async throws {
    #expect(try await fetch(.closes(place), with: driver).end?.reason == .truncated)
    #expect(try await fetch(.resets(place), with: driver).end?.reason == .truncated)
  }

  @Test("that is no HTTP breaks the rules", arguments: CurlTransport.Driver.allCases)
  func garbage(_ driver: CurlTransport.Driver) async throws {
    let answer = try await fetch(.garbage, with: driver)
    #expect(answer.head == nil)
    #expect(answer.end?.reason == .protocol)
  }

  @Test("that switches protocols breaks the rules", arguments: CurlTransport.Driver.allCases)
  func switching(_ driver: CurlTransport.Driver) async throws {
    let answer = try await fetch(
      .raw("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nbytes", closing: true), with: driver)
    #expect(answer.head == nil)
    #expect(answer.end?.reason == .protocol)
  }

  @Test("with too long a head breaks the rules", arguments: CurlTransport.Driver.allCases)
  func hugeHead(_ driver: CurlTransport.Driver) async throws {
    #expect(try await fetch(.hugeHead(50_000), with: driver).end == .complete)
    #expect(try await fetch(.hugeHead(1_000_000), with: driver).end?.reason == .protocol)
    let many = String(repeating: "X-Many: \(String(repeating: "z", count: 90))\r\n", count: 4000)
    let answer = try await fetch(.raw("HTTP/1.1 200 OK\r\n\(many)\r\n"), with: driver)
    #expect(answer.end?.reason == .protocol)
  }

  // MARK: Redirects

  @Test(
    "that redirects names the absolute address", arguments: CurlTransport.Driver.allCases,
    [
      ("/other", "/other"), ("other?q=1", "/other?q=1"), ("../up", "/up"), ("a b", "/a%20b"),
      ("//127.0.0.1:1/x", nil), ("http://example.invalid/x", nil), ("ftp://example.invalid/x", nil),
    ])
  func redirect(_ driver: CurlTransport.Driver, _ targets: (String, String?)) async throws {
    let answer = try await fetch(.redirect(to: targets.0, body: "moved"), with: driver)
    let absolute = targets.0.hasPrefix("//") ? "http:\(targets.0)" : targets.0
    #expect(answer.end == .redirect(to: targets.1.map { origin.url($0) } ?? absolute))
    #expect(origin.record.requests.count == 1, "the transport must not follow")
  }

  @Test("that redirects nowhere is complete", arguments: CurlTransport.Driver.allCases)
  func redirectWithoutTarget(_ driver: CurlTransport.Driver) async throws {
    #expect(try await fetch(.redirect(to: nil), with: driver).end == .complete)
  }

  @Test("that redirects to nonsense fails", arguments: CurlTransport.Driver.allCases)
  func redirectToNonsense(_ driver: CurlTransport.Driver) async throws {
    #expect(try await fetch(.redirect(to: "http://[::"), with: driver).end?.reason == .redirect)
  }

  // MARK: What the handler decides

  @Test("that is refused in its body ends as cancelled", arguments: CurlTransport.Driver.allCases)
  func refused(_ driver: CurlTransport.Driver) async throws {
    let answer = try await fetch(
      .ok("never wanted"), with: driver, recorder: Recorder(onBody: { _ in false }))
    #expect(answer.end == .cancelled)
  }

  @Test("whose body is discarded tells only its head", arguments: CurlTransport.Driver.allCases)
  func discarded(_ driver: CurlTransport.Driver) async throws {
    for behaviour: MisbehavingOrigin.Behaviour in [
      .status(404, "no"), .ok([UInt8](repeating: 1, count: 500_000)), .untilClose("endless"),
      .chunked([String](repeating: String(repeating: "c", count: 9000), count: 20)),
      .endsEarly(after: 3, of: 10), .resets(.inBody),
    ] {
      let answer = try await fetch(
        behaviour, with: driver, recorder: Recorder(decision: .discard))
      #expect(answer.head != nil)
      #expect(answer.bytes.isEmpty)
      #expect(answer.end == .complete)
    }
  }

  @Test("whose body is discarded may still redirect", arguments: CurlTransport.Driver.allCases)
  func discardedRedirect(_ driver: CurlTransport.Driver) async throws {
    for size in [0, 10, 200_000] {
      let behaviour = MisbehavingOrigin.Behaviour.redirect(
        to: "/next", body: String(repeating: "b", count: size))
      let answer = try await fetch(behaviour, with: driver, recorder: Recorder(decision: .discard))
      #expect(answer.end == .redirect(to: origin.url("/next")))
    }
  }
}
