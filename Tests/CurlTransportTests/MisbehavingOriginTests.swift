// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import CurlTransport
import TestSupport
import Testing

@Suite("The misbehaving origin", .timeLimit(.minutes(1)))
struct MisbehavingOriginTests {
  @Test("writes down what it was asked, and on which connection")
  func record() async throws {
    let origin = try MisbehavingOrigin()
    origin.on("/here", .ok("here"))
    let transport = try CurlTransport()
    _ = await transport.fetch(origin.url("/here?x"))
    _ = await transport.fetch(origin.url("/missing"))
    let record = origin.record
    #expect(record.requests.map(\.target) == ["/here?x", "/missing"])
    #expect(record.requests.map(\.turn) == [1, 2])
    #expect(record.count(of: "/here") == 1)
    #expect(record.connections == 1)
    #expect(record.peakInFlight == 1)
    #expect(record.inFlight == 0)
  }

  @Test("answers 404 where nothing was laid down, and anew where something was")
  func routes() async throws {
    let origin = try MisbehavingOrigin()
    let transport = try CurlTransport()
    #expect(await transport.fetch(origin.url("/x")).head?.status == 404)
    origin.onEverythingElse(.status(503))
    #expect(await transport.fetch(origin.url("/x")).head?.status == 503)
    origin.on("/x", .ok("now"))
    #expect(await transport.fetch(origin.url("/x")).body == "now")
  }

  @Test("holds answers at a gate until it is opened or enough have come")
  func gates() async throws {
    let origin = try MisbehavingOrigin()
    let gate = MisbehavingOrigin.Gate(opensAt: 3)
    origin.on("/held", .held(at: gate, then: .ok("open")))
    let transport = try CurlTransport()
    let recorders = (0..<3).map { _ in Recorder() }
    let transfers = recorders.map { Transfer(url: origin.url("/held"), handler: $0) }
    transport.start([transfers[0], transfers[1]])
    await gate.arrivals(2)
    #expect(recorders[0].soFar.head == nil)
    #expect(origin.record.inFlight == 2)
    transport.start([transfers[2]])
    for recorder in recorders { #expect(await recorder.answer.body == "open") }
    #expect(origin.record.peakInFlight == 3)
  }

  @Test("ends while connections are open and answers held")
  func ending() async throws {
    let recorder = Recorder()
    let transport = try CurlTransport()
    do {
      let origin = try MisbehavingOrigin()
      let gate = MisbehavingOrigin.Gate()
      origin.on("/held", .held(at: gate, then: .ok("never")))
      transport.start([Transfer(url: origin.url("/held"), handler: recorder)])
      await gate.arrivals(1)
      withExtendedLifetime(origin) {}
    }
    #expect(await recorder.answer.end != nil)
  }
}
