// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import TestSupport
import Testing

@Suite("Of every transport: a transfer that cannot be made", .timeLimit(.minutes(1)))
struct FailureTests {
  @Test(
    "for its address says so", arguments: Carrier.allCases,
    [
      "", "nonsense", "example.invalid/x", "ftp://example.invalid/x", "http:/one-slash",
      "http://", "http://a b/", "http://127.0.0.1:99999/", "http://[::1", "http://a/\u{0}b",
      "http://a/\r\nX-Evil: 1", "file:///etc/hosts",
    ])
  func badURL(_ carrier: Carrier, _ url: String) async throws {
    let answer = try await carrier.make().fetch(url)
    #expect(answer.head == nil)
    #expect(answer.end?.reason == .badURL)
  }

  @Test("for want of an address of its host says so, without a secret", arguments: Carrier.allCases)
  func dns(_ carrier: Carrier) async throws {
    let answer = try await carrier.make().fetch("http://user:secret@\(nowhere())/x?token=secret")
    #expect(
      answer.end
        == .failed(
          DownloadFailure(
            .dns, "No address is known for \(nowhere())", remedy: .anotherAttempt)))
  }

  @Test("for want of a server says so, without a secret", arguments: Carrier.allCases)
  func refused(_ carrier: Carrier) async throws {
    // A port that was free a moment ago.
    let port = try MisbehavingOrigin().port
    let answer = try await carrier.make().fetch(
      "http://user:secret@127.0.0.1:\(port)/x?token=secret")
    #expect(answer.end?.reason == .connect)
    #expect(answer.end?.message?.hasPrefix("No connection to 127.0.0.1:\(port): ") == true)
    #expect(answer.end?.remedy == .anotherAttempt)
  }

  @Test("for want of a server at an address in brackets says so", arguments: Carrier.allCases)
  func brackets(_ carrier: Carrier) async throws {
    let port = try MisbehavingOrigin().port
    let answer = try await carrier.make().fetch("http://[::1]:\(port)/")
    try await checking(.addressesInBrackets, of: carrier) {
      #expect(answer.end?.reason == .connect)
    }
  }

  @Test("for want of encryption, or of trust, says so", arguments: Carrier.allCases)
  func encryption(_ carrier: Carrier) async throws {
    let plain = try MisbehavingOrigin(greeting: "220 mail.example ESMTP\r\n")
    let answer = try await carrier.make().fetch("https://127.0.0.1:\(plain.port)/")
    #expect(answer.end?.reason == .tls)
    let stranger = try MisbehavingOrigin(security: .tls)
    let distrusted = try await carrier.make().fetch(stranger.url())
    #expect(distrusted.end?.reason == .tls)
    #expect(distrusted.end?.remedy == DownloadFailure.Remedy.none)
    #expect(stranger.record.requests.isEmpty)
  }

  @Test(
    "because nothing comes says so", arguments: Carrier.allCases, MisbehavingOrigin.Place.allCases)
  func idle(_ carrier: Carrier, _ place: MisbehavingOrigin.Place) async throws {
    let origin = try MisbehavingOrigin()
    let gate = MisbehavingOrigin.Gate()
    origin.on("/", .stalled(place, at: gate))
    let answer = try await carrier.make().fetch(
      origin.url(), timeouts: TransferTimeouts(idle: .milliseconds(500)))
    #expect(
      answer.end
        == .failed(
          DownloadFailure(
            .timeout, "Nothing came from 127.0.0.1:\(origin.port) for too long",
            remedy: .anotherAttempt)))
    #expect(answer.bytes.count == (place == .inBody ? 5 : 0))
  }

  @Test(
    "because it takes longer than it may says so, at whatever place", arguments: Carrier.allCases,
    MisbehavingOrigin.Place.allCases)
  func total(_ carrier: Carrier, _ place: MisbehavingOrigin.Place) async throws {
    let origin = try MisbehavingOrigin()
    let gate = MisbehavingOrigin.Gate()
    origin.on("/", .stalled(place, at: gate))
    origin.on("/next", .ok("next"))
    let transport = try carrier.make()
    let answer = await transport.fetch(
      origin.url(), timeouts: TransferTimeouts(total: .milliseconds(200)))
    #expect(
      answer.end
        == .failed(
          DownloadFailure(
            .timeout, "The transfer from 127.0.0.1:\(origin.port) took too long",
            remedy: .anotherAttempt)))
    gate.open()
    #expect(await transport.fetch(origin.url("/next")).end == .complete)
  }

  @Test("because its connection takes too long says so", arguments: Carrier.allCases)
  func connectTimeout(_ carrier: Carrier) async throws {
    try await checking(.connectTimeout, of: carrier) {
      // The system completes this connection, but nobody agrees on encryption in it.
      let origin = try MisbehavingOrigin()
      let answer = try await carrier.make().fetch(
        "https://127.0.0.1:\(origin.port)/",
        timeouts: TransferTimeouts(connect: .milliseconds(200), idle: .seconds(2)))
      #expect(answer.end?.reason == .timeout)
      #expect(answer.end?.message?.hasPrefix("Connecting to 127.0.0.1") == true)
    }
  }
}
