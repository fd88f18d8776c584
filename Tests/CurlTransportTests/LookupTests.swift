// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import CurlTransport
import Foundation
import TestSupport
import Testing

@Suite("A lookup", .timeLimit(.minutes(1)))
struct LookupTests {
  @Test("is made of a host's name and port, and of nothing that is a number")
  func names() {
    #expect(LookupName.of("http://Example.org/a?b:c@d") == "http://example.org")
    #expect(LookupName.of("https://u:p@EXAMPLE.org:81#x") == "https://example.org:81")
    #expect(LookupName.of("http://b\u{fc}cher.example?") == "http://b\u{fc}cher.example")
    #expect(LookupName.of("proxy.example:3128") == "proxy.example:3128")
    #expect(LookupName.of("http://localhost.example/") == "http://localhost.example")
    #expect(LookupName.of("http://mylocalhost/") == "http://mylocalhost")
    for url in [
      "http://127.0.0.1/", "http://1.2.3.4:81", "https://u@[::1]:8080/x", "http://LocalHost:80/",
      "http://a.localhost", "http://", "",
    ] { #expect(LookupName.of(url) == nil) }
  }

  @Test("is one for all who want the host at once, and its failure is theirs")
  func failure() async throws {
    for driver in CurlTransport.Driver.allCases {
      let transport = try CurlTransport(driver: driver)
      let recorders = (0..<1000).map { _ in Recorder() }
      transport.start(
        recorders.enumerated().map { Transfer(url: "http://\(nowhere())/\($0)", handler: $1) })
      for recorder in recorders {
        #expect(
          await recorder.answer.end
            == .failed(
              DownloadFailure(
                .dns, "No address is known for \(nowhere())", remedy: .anotherAttempt)))
      }
      #expect(transport.lookupCount == 1)
      #expect(await transport.fetch("http://\(nowhere())/").end?.reason == .dns)
      #expect(transport.lookupCount == 2, "a failure is not kept")
    }
  }

  @Test(
    "is one for all who want the host at once, who then go on", .enabled(if: ownName != nil),
    arguments: CurlTransport.Driver.allCases)
  func success(_ driver: CurlTransport.Driver) async throws {
    let name = try #require(Self.ownName)
    let gate = MisbehavingOrigin.Gate(opensAt: 40)
    let origin = try MisbehavingOrigin()
    origin.onEverythingElse(.held(at: gate, then: .echoingPath))
    let transport = try CurlTransport(driver: driver)
    // None is answered before all have come: nobody waits for more than a lookup.
    let result = await Batch(
      (0..<200).map { "http://\(name):\(origin.port)/\($0)" }, transport: transport
    ).run(limit: 40)
    #expect(result.ends.allSatisfy { $0 == .complete })
    #expect(origin.record.peakInFlight == 40)
    #expect(transport.lookupCount == 1)
    withExtendedLifetime(transport) {}
  }

  @Test("of many hosts leaves none out", arguments: CurlTransport.Driver.allCases)
  func manyHosts(_ driver: CurlTransport.Driver) async throws {
    let transport = try CurlTransport(driver: driver)
    let urls = (0..<300).map { "http://\(nowhere($0 / 3))/\($0)" }
    let recorders = urls.map { _ in Recorder() }
    transport.start(zip(urls, recorders).map { Transfer(url: $0, handler: $1) })
    for recorder in recorders { #expect(await recorder.answer.end?.reason == .dns) }
    #expect(transport.lookupCount == 100)
  }

  @Test(
    "that is cancelled is taken over by who waits for it", arguments: CurlTransport.Driver.allCases)
  func cancelled(_ driver: CurlTransport.Driver) async throws {
    let transport = try CurlTransport(driver: driver)
    for _ in 0..<20 {
      let recorders = (0..<10).map { _ in Recorder() }
      transport.start(recorders.map { Transfer(url: "http://\(nowhere())/", handler: $0) })
      for recorder in recorders.prefix(5) { transport.cancel(recorder) }
      transport.cancel(recorders[9])
      for (index, recorder) in recorders.enumerated() {
        let end = await recorder.answer.end
        // Cancelled in time, unless the lookup was over before.
        if index < 5 || index == 9 {
          #expect(end == .cancelled || end?.reason == .dns)
        } else {
          #expect(end?.reason == .dns)
        }
      }
    }
  }

  @Test("of a bad address is nobody else's fault", arguments: CurlTransport.Driver.allCases)
  func badAddress(_ driver: CurlTransport.Driver) async throws {
    let transport = try CurlTransport(driver: driver)
    let recorders = (0..<3).map { _ in Recorder() }
    transport.start(
      zip(["/a b", "/", "/"].map { "http://\(nowhere())\($0)" }, recorders)
        .map { Transfer(url: $0, handler: $1) })
    #expect(await recorders[0].answer.end?.reason == .badURL)
    #expect(await recorders[1].answer.end?.reason == .dns)
    #expect(await recorders[2].answer.end?.reason == .dns)
  }

  @Test(
    "that a transport's end interrupts is told to all", arguments: CurlTransport.Driver.allCases)
  func released(_ driver: CurlTransport.Driver) async throws {
    let recorders = (0..<50).map { _ in Recorder() }
    do {
      let transport = try CurlTransport(driver: driver)
      transport.start(
        recorders.enumerated().map { Transfer(url: "http://\(nowhere($0 % 25))/", handler: $1) })
    }
    for recorder in recorders {
      let end = recorder.soFar.end
      #expect(end == .cancelled || end?.reason == .dns)
    }
  }

  /// This machine's name, if it leads to 127.0.0.1 and is not one that needs no lookup.
  private static let ownName: String? = {
    let name = ProcessInfo.processInfo.hostName
    var hints = addrinfo()
    hints.ai_family = AF_INET
    var found: UnsafeMutablePointer<addrinfo>?
    guard LookupName.of("http://\(name)/") != nil, getaddrinfo(name, nil, &hints, &found) == 0,
      let address = found?.pointee.ai_addr
    else { return nil }
    defer { freeaddrinfo(found) }
    let isLoopback = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
      $0.pointee.sin_addr.s_addr == inet_addr("127.0.0.1")
    }
    return isLoopback ? name : nil
  }()
}
