// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import TestSupport
import Testing

@Suite("Of every transport: a broken answer", .timeLimit(.minutes(1)))
struct BrokenAnswerTests {
  let origin: MisbehavingOrigin

  init() throws { origin = try MisbehavingOrigin() }

  private func fetch(
    _ behaviour: MisbehavingOrigin.Behaviour, by carrier: Carrier
  ) async throws -> Recorder.Answer {
    origin.on("/item", behaviour)
    return try await carrier.make().fetch(origin.url("/item"))
  }

  @Test("that ends early is truncated, and may be asked for again", arguments: Carrier.allCases)
  func endsEarly(_ carrier: Carrier) async throws {
    let answer = try await fetch(.endsEarly(after: 7, of: 10), by: carrier)
    #expect(answer.body == "xxxxxxx")
    #expect(answer.end?.reason == .truncated)
    #expect(answer.end?.remedy == .anotherAttempt)
  }

  @Test("that loses its last chunk is truncated", arguments: Carrier.allCases)
  func chunkedCutOff(_ carrier: Carrier) async throws {
    let answer = try await fetch(.chunkedCutOff(["one", "two"]), by: carrier)
    #expect(answer.body == "onetwo")
    #expect(answer.end?.reason == .truncated)
  }

  @Test("in broken chunks breaks the rules", arguments: Carrier.allCases)
  func brokenChunks(_ carrier: Carrier) async throws {
    let answer = try await fetch(
      .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\nzz\r\n"), by: carrier)
    #expect(answer.end?.reason == .protocol)
  }

  @Test(
    "of a doubtful length is never a success", arguments: Carrier.allCases,
    [["6", "3"], ["3", "6"], ["3, 6"], ["3x"], ["-3"], [""], ["3", ""], ["9999999999999999999"]])
  func doubtfulLength(_ carrier: Carrier, _ lengths: [String]) async throws {
    let answer = try await fetch(.lengths(lengths, body: "123456"), by: carrier)
    #expect(answer.end?.reason == .protocol)
    #expect(answer.bytes.isEmpty)
  }

  @Test(
    "cut off by a close or a reset is truncated", arguments: Carrier.allCases,
    MisbehavingOrigin.Place.allCases)
  func cutOff(_ carrier: Carrier, _ place: MisbehavingOrigin.Place) async throws {
    #expect(try await fetch(.closes(place), by: carrier).end?.reason == .truncated)
    #expect(try await fetch(.resets(place), by: carrier).end?.reason == .truncated)
  }

  @Test("that is no HTTP breaks the rules", arguments: Carrier.allCases)
  func garbage(_ carrier: Carrier) async throws {
    let answer = try await fetch(.garbage, by: carrier)
    #expect(answer.head == nil)
    #expect(answer.end?.reason == .protocol)
  }

  @Test("that switches protocols breaks the rules", arguments: Carrier.allCases)
  func switching(_ carrier: Carrier) async throws {
    let answer = try await fetch(
      .raw("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nbytes", closing: true), by: carrier)
    #expect(answer.head == nil)
    #expect(answer.end?.reason == .protocol)
  }

  @Test("with too long a head breaks the rules", arguments: Carrier.allCases)
  func hugeHead(_ carrier: Carrier) async throws {
    #expect(try await fetch(.hugeHead(50_000), by: carrier).end == .complete)
    #expect(try await fetch(.hugeHead(1_000_000), by: carrier).end?.reason == .protocol)
    let many = String(repeating: "X-Many: \(String(repeating: "z", count: 90))\r\n", count: 4000)
    let answer = try await fetch(.raw("HTTP/1.1 200 OK\r\n\(many)\r\n"), by: carrier)
    #expect(answer.end?.reason == .protocol)
  }
}
