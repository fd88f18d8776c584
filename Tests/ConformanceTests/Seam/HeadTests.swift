// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import TestSupport
import Testing

@Suite("Of every transport: a head", .timeLimit(.minutes(1)))
struct HeadTests {
  let origin: MisbehavingOrigin

  init() throws { origin = try MisbehavingOrigin() }

  private func fetch(_ answer: [UInt8], by carrier: Carrier) async throws -> Recorder.Answer {
    origin.on(
      "/item",
      MisbehavingOrigin.Behaviour { exchange in
        exchange.sendLast(answer)
        exchange.close()
      })
    return try await carrier.make().fetch(origin.url("/item"))
  }

  private static let length = "Content-Length: 2\r\n"

  @Test(
    "is read as it may be written", arguments: Carrier.allCases,
    [
      "HTTP/1.1 200 \r\n\(length)", "HTTP/1.0 200 OK\r\n\(length)",
      "HTTP/1.1 200 Fine, \"so\" far\r\n\(length)", "HTTP/1.1 200 OK\r\ncontent-LENGTH: 2\r\n",
      "HTTP/1.1 200 OK\r\nX-Blank:\r\n\(length)", "HTTP/1.1 200 OK\r\nX-Blank: \r\n\(length)",
      "HTTP/1.1 200 OK\r\nX-Folded: a\r\n b\r\n\(length)",
      "HTTP/1.1 200 OK\r\nX-Odd: \u{e9}\r\n\(length)",
      "HTTP/1.1 200 OK\r\n\(length)X-Colons: a:b::c\r\n",
    ])
  func usual(_ carrier: Carrier, _ head: String) async throws {
    let answer = try await fetch(Array("\(head)\r\nok".utf8), by: carrier)
    #expect(answer.head == ResponseHead(status: 200, framing: .length(2)))
    #expect(answer.body == "ok" && answer.end == .complete)
  }

  @Test(
    "is read as it is seldom written", arguments: Carrier.allCases,
    [
      "HTTP/1.1 200\r\n\(length)\r\n", "HTTP/1.1 200 OK\r\nContent-Length:2\r\n\r\n",
      "HTTP/1.1 200 OK\r\nX-Blank:  \r\n\(length)\r\n", "HTTP/1.1 200 OK\nContent-Length: 2\n\n",
    ].map { Array($0.utf8) } + [
      Array("HTTP/1.1 200 OK\r\nX-Latin: ".utf8) + [0xe9] + Array("\r\n\(length)\r\n".utf8)
    ])
  func unusual(_ carrier: Carrier, _ head: [UInt8]) async throws {
    let answer = try await fetch(head + Array("ok".utf8), by: carrier)
    try await checking(.unusualHeads, of: carrier) {
      #expect(answer.head == ResponseHead(status: 200, framing: .length(2)))
      #expect(answer.body == "ok" && answer.end == .complete)
    }
    #expect(answer.end == .complete || answer.end?.reason == .protocol)
  }

  @Test(
    "that is none breaks the rules", arguments: Carrier.allCases,
    [
      "HTTP/1.1 200 OK\r\nnonsense\r\n\(length)\r\nok", "HTTP/1.1 099 OK\r\n\(length)\r\nok",
      "HTTP/1.1 1000 OK\r\n\(length)\r\nok", "HTTP/1.1 OK\r\n\(length)\r\nok",
      "HTTP/9.9 200 OK\r\n\(length)\r\nok", "HTTP/1.1 200 OK\r\nX: a\u{0}b\r\n\(length)\r\nok",
      "<html></html>", "\r\n\r\n",
    ])
  func none(_ carrier: Carrier, _ text: String) async throws {
    let answer = try await fetch(Array(text.utf8), by: carrier)
    #expect(answer.head == nil)
    #expect(answer.end?.reason == .protocol)
  }

  @Test(
    "that breaks off is truncated, and may be asked for again", arguments: Carrier.allCases,
    [
      "H", "HTTP/1.1 200", "HTTP/1.1 100 Continue\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX",
    ])
  func cut(_ carrier: Carrier, _ text: String) async throws {
    let answer = try await fetch(Array(text.utf8), by: carrier)
    #expect(answer.head == nil)
    #expect(answer.end?.reason == .truncated)
    #expect(answer.end?.remedy == .anotherAttempt)
  }

  @Test(
    "that breaks off before it tells a length is truncated", arguments: Carrier.allCases,
    [
      "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nETag: \"o",
      "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nX",
    ])
  func cutEarly(_ carrier: Carrier, _ text: String) async throws {
    try await checking(.cutInHead, of: carrier) {
      let answer = try await fetch(Array(text.utf8), by: carrier)
      #expect(answer.head == nil)
      #expect(answer.end?.reason == .truncated)
      #expect(answer.end?.remedy == .anotherAttempt)
    }
  }
}
