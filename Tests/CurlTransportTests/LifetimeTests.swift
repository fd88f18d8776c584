// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import CurlTransport
import Synchronization
import TestSupport
import Testing

@Suite("A transport's life", .timeLimit(.minutes(2)))
struct LifetimeTests {
  let origin: MisbehavingOrigin
  let gate = MisbehavingOrigin.Gate()

  init() throws {
    origin = try MisbehavingOrigin()
    origin.on("/good", .ok("good"))
    origin.on("/held", .held(at: gate, then: .ok("late")))
    origin.on("/stalled", .stalled(.inBody, at: gate))
  }

  @Test("ends its transfers with it", arguments: CurlTransport.Driver.allCases)
  func release(_ driver: CurlTransport.Driver) async throws {
    let recorders = (0..<20).map { _ in Recorder() }
    do {
      let transport = try CurlTransport(driver: driver)
      transport.start(
        recorders.enumerated().map {
          Transfer(url: origin.url($0 % 2 == 0 ? "/held" : "/stalled"), handler: $1)
        })
      await gate.arrivals(20)
    }
    // The release returned when everything was over.
    for recorder in recorders { #expect(recorder.soFar.end == .cancelled) }
  }

  @Test("ends transfers that it never came to begin", arguments: CurlTransport.Driver.allCases)
  func releaseAtOnce(_ driver: CurlTransport.Driver) async throws {
    for _ in 0..<50 {
      let recorder = Recorder()
      try CurlTransport(driver: driver).start(
        [Transfer(url: origin.url("/held"), handler: recorder)])
      #expect(recorder.soFar.end == .cancelled)
    }
  }

  @Test("may begin and end without a transfer", arguments: CurlTransport.Driver.allCases)
  func unused(_ driver: CurlTransport.Driver) throws {
    for _ in 0..<50 { _ = try CurlTransport(driver: driver) }
  }

  @Test("may end on its own thread", arguments: CurlTransport.Driver.allCases)
  func releaseInFinish(_ driver: CurlTransport.Driver) async throws {
    let keeper = Mutex<CurlTransport?>(try CurlTransport(driver: driver))
    weak let transport = keeper.withLock { $0 }
    let other = Recorder()
    let last = Recorder(onFinish: { _, _ in
      let released = keeper.withLock { kept in
        defer { kept = nil }
        return kept
      }
      _ = released
    })
    transport?.start([
      Transfer(url: origin.url("/held"), handler: other),
      Transfer(url: origin.url("/good"), handler: last),
    ])
    #expect(await last.answer.end == .complete)
    #expect(await other.answer.end == .cancelled)
    #expect(transport == nil)
  }

  @Test("waits without turning", arguments: CurlTransport.Driver.allCases)
  func waiting(_ driver: CurlTransport.Driver) async throws {
    let transport = try CurlTransport(driver: driver)
    let recorders = (0..<20).map { _ in Recorder() }
    transport.start(recorders.map { Transfer(url: origin.url("/held"), handler: $0) })
    await gate.arrivals(20)
    gate.open()
    for recorder in recorders { #expect(await recorder.answer.end == .complete) }
    // Connecting, asking and answering take a few rounds for each of them, and idling none.
    #expect(transport.rounds < 20 * 20)
  }
}
