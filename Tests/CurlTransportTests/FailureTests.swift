// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import CurlTransport
import TestSupport
import Testing

@Suite("A transfer that cannot be made", .timeLimit(.minutes(1)))
struct FailureTests {
  @Test(
    "for its address says so", arguments: CurlTransport.Driver.allCases,
    [
      "", "nonsense", "example.invalid/x", "ftp://example.invalid/x", "http:/one-slash",
      "http://", "http://a b/", "http://127.0.0.1:99999/", "http://[::1", "http://a/\u{0}b",
      "http://a/\r\nX-Evil: 1", "file:///etc/hosts",
    ])
  func badURL(_ driver: CurlTransport.Driver, _ url: String) async throws {
    let answer = try await CurlTransport(driver: driver).fetch(url)
    #expect(answer.head == nil)
    #expect(answer.end?.reason == .badURL)
  }

  @Test("for want of an address of its host says so", arguments: CurlTransport.Driver.allCases)
  func dns(_ driver: CurlTransport.Driver) async throws {
    let answer = try await CurlTransport(driver: driver).fetch("http://user:secret@\(nowhere())/x")
    #expect(
      answer.end
        == .failed(
          DownloadFailure(
            .dns, "No address is known for \(nowhere())", remedy: .anotherAttempt)))
  }

  @Test("for want of a server says so", arguments: CurlTransport.Driver.allCases)
  func refused(_ driver: CurlTransport.Driver) async throws {
    // A port that was free a moment ago.
    let port = try MisbehavingOrigin().port
    let answer = try await CurlTransport(driver: driver).fetch(
      "http://user:secret@127.0.0.1:\(port)/x?token=secret")
    #expect(answer.end?.reason == .connect)
    guard case .failed(let failure) = answer.end else { return }
    #expect(failure.message == "No connection to 127.0.0.1:\(port): Connection refused")
    #expect(failure.remedy == .anotherAttempt)
  }

  @Test("for want of encryption says so", arguments: CurlTransport.Driver.allCases)
  func tls(_ driver: CurlTransport.Driver) async throws {
    let origin = try MisbehavingOrigin(greeting: "220 mail.example ESMTP\r\n")
    let answer = try await CurlTransport(driver: driver).fetch("https://127.0.0.1:\(origin.port)/")
    #expect(answer.end?.reason == .tls)
  }

  @Test(
    "because nothing comes says so", arguments: CurlTransport.Driver.allCases,
    MisbehavingOrigin.Place.allCases)
  func idle(_ driver: CurlTransport.Driver, _ place: MisbehavingOrigin.Place) async throws {
    let origin = try MisbehavingOrigin()
    let gate = MisbehavingOrigin.Gate()
    origin.on("/", .stalled(place, at: gate))
    let answer = try await CurlTransport(driver: driver).fetch(
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
    "because it takes longer than it may says so, at whatever place",
    arguments: CurlTransport.Driver.allCases, MisbehavingOrigin.Place.allCases)
  func total(_ driver: CurlTransport.Driver, _ place: MisbehavingOrigin.Place) async throws {
    let origin = try MisbehavingOrigin()
    let gate = MisbehavingOrigin.Gate()
    origin.on("/", .stalled(place, at: gate))
    origin.on("/next", .ok("next"))
    let transport = try CurlTransport(driver: driver)
    let answer = await transport.fetch(
      origin.url(), timeouts: TransferTimeouts(total: .milliseconds(200)))
    #expect(
      answer.end
        == .failed(
          DownloadFailure(
            .timeout, "The transfer from 127.0.0.1:\(origin.port) took too long",
            remedy: .anotherAttempt)))
    // The next transfer of the same slot has no such limit.
    gate.open()
    #expect(await transport.fetch(origin.url("/next")).end == .complete)
  }

  @Test("because its connection takes too long says so", arguments: CurlTransport.Driver.allCases)
  func connectTimeout(_ driver: CurlTransport.Driver) async throws {
    // The system completes this connection, but nobody agrees on encryption in it.
    let origin = try MisbehavingOrigin()
    let answer = try await CurlTransport(driver: driver).fetch(
      "https://127.0.0.1:\(origin.port)/",
      timeouts: TransferTimeouts(connect: .milliseconds(200), idle: .seconds(60)))
    #expect(answer.end?.reason == .timeout)
  }

  @Test("while others are does not hold them up", arguments: CurlTransport.Driver.allCases)
  func mixed(_ driver: CurlTransport.Driver) async throws {
    let origin = try MisbehavingOrigin()
    origin.on("/good", .ok("good"))
    let urls = (0..<200).flatMap {
      [origin.url("/good"), "http://127.0.0.1:1/\($0)", "nonsense", origin.url("/missing")]
    }
    let transport = try CurlTransport(driver: driver)
    let result = await Batch(urls, transport: transport).run(limit: 8)
    withExtendedLifetime(transport) {}
    for index in stride(from: 0, to: urls.count, by: 4) {
      #expect(result.bodies[index] == Array("good".utf8))
      #expect(result.ends[index + 1].reason == .connect)
      #expect(result.ends[index + 2].reason == .badURL)
      #expect(result.ends[index + 3] == .complete)
    }
  }
}
