// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import CurlTransport
import Synchronization
import TestSupport
import Testing

@Suite("Cancelling a transfer", .timeLimit(.minutes(1)))
struct CancellationTests {
  let origin: MisbehavingOrigin
  let gate = MisbehavingOrigin.Gate()

  init() throws {
    origin = try MisbehavingOrigin()
    origin.on("/good", .ok("good"))
  }

  @Test("before it was begun leaves a later start alone", arguments: CurlTransport.Driver.allCases)
  func beforeStart(_ driver: CurlTransport.Driver) async throws {
    let transport = try CurlTransport(driver: driver)
    let recorder = Recorder()
    transport.cancel(recorder)
    #expect(await transport.fetch(origin.url("/good"), recorder: recorder).end == .complete)
  }

  @Test("right after its start ends it", arguments: CurlTransport.Driver.allCases)
  func atOnce(_ driver: CurlTransport.Driver) async throws {
    origin.on("/held", .held(at: gate, then: .ok("late")))
    let transport = try CurlTransport(driver: driver)
    for _ in 0..<100 {
      let recorder = Recorder()
      transport.start([Transfer(url: origin.url("/held"), handler: recorder)])
      transport.cancel(recorder)
      let answer = await recorder.answer
      #expect(answer.end == .cancelled)
      #expect(answer.head == nil)
    }
  }

  @Test(
    "at any stage ends it, and only it", arguments: CurlTransport.Driver.allCases,
    MisbehavingOrigin.Place.allCases)
  func stage(_ driver: CurlTransport.Driver, _ place: MisbehavingOrigin.Place) async throws {
    origin.on("/stalled", .stalled(place, at: gate))
    let transport = try CurlTransport(driver: driver)
    let first = Recorder()
    let second = Recorder()
    transport.start([first, second].map { Transfer(url: origin.url("/stalled"), handler: $0) })
    await gate.arrivals(2)
    transport.cancel(first)
    transport.cancel(first)
    #expect(await first.answer.end == .cancelled)
    #expect(second.soFar.end == nil)
    gate.open()
    #expect(await second.answer.body == "0123456789")
    #expect(await transport.fetch(origin.url("/good")).body == "good")
  }

  @Test("while its host is looked up ends it", arguments: CurlTransport.Driver.allCases)
  func lookUp(_ driver: CurlTransport.Driver) async throws {
    let transport = try CurlTransport(driver: driver)
    let recorders = (0..<20).map { _ in Recorder() }
    for (index, recorder) in recorders.enumerated() {
      transport.start([Transfer(url: "http://\(nowhere(index))/", handler: recorder)])
      transport.cancel(recorder)
      let end = await recorder.answer.end
      #expect(end == .cancelled || end?.reason == .dns)
    }
    #expect(await transport.fetch(origin.url("/good")).body == "good")
  }

  @Test("after its end changes nothing", arguments: CurlTransport.Driver.allCases)
  func afterEnd(_ driver: CurlTransport.Driver) async throws {
    let transport = try CurlTransport(driver: driver)
    let recorder = Recorder()
    #expect(await transport.fetch(origin.url("/good"), recorder: recorder).end == .complete)
    transport.cancel(recorder)
    #expect(await transport.fetch(origin.url("/good")).end == .complete)
  }

  @Test("from inside its own calls ends it", arguments: CurlTransport.Driver.allCases)
  func fromInside(_ driver: CurlTransport.Driver) async throws {
    origin.on("/stalled", .stalled(.inBody, at: gate))
    let transport = try CurlTransport(driver: driver)
    let inHead = Recorder(onHead: { transport.cancel($0) })
    #expect(await transport.fetch(origin.url("/stalled"), recorder: inHead).end == .cancelled)
    let inBody = Recorder(onBody: {
      transport.cancel($0)
      return true
    })
    #expect(await transport.fetch(origin.url("/stalled"), recorder: inBody).end == .cancelled)
    let inFinish = Recorder(onFinish: { recorder, _ in transport.cancel(recorder) })
    #expect(await transport.fetch(origin.url("/good"), recorder: inFinish).end == .complete)
  }

  @Test("of another from inside a handler ends that", arguments: CurlTransport.Driver.allCases)
  func another(_ driver: CurlTransport.Driver) async throws {
    origin.on("/held", .held(at: gate, then: .ok("late")))
    let transport = try CurlTransport(driver: driver)
    let victim = Recorder()
    transport.start([Transfer(url: origin.url("/held"), handler: victim)])
    await gate.arrivals(1)
    let killer = Recorder(onFinish: { _, _ in transport.cancel(victim) })
    #expect(await transport.fetch(origin.url("/good"), recorder: killer).end == .complete)
    #expect(await victim.answer.end == .cancelled)
  }

  @Test("races with its end, and one of the two wins", arguments: CurlTransport.Driver.allCases)
  func race(_ driver: CurlTransport.Driver) async throws {
    let transport = try CurlTransport(driver: driver)
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<60 {
            let recorder = Recorder()
            transport.start([Transfer(url: origin.url("/good"), handler: recorder)])
            await Task.yield()
            transport.cancel(recorder)
            let answer = await recorder.answer
            #expect(answer.end == .cancelled || (answer.end == .complete && answer.body == "good"))
          }
        }
      }
    }
  }

  @Test("frees its handler to be used again", arguments: CurlTransport.Driver.allCases)
  func handlerIsReleased(_ driver: CurlTransport.Driver) async throws {
    origin.on("/held", .held(at: gate, then: .ok("late")))
    let transport = try CurlTransport(driver: driver)
    weak var handler: Recorder?
    do {
      let recorder = Recorder()
      handler = recorder
      transport.start([Transfer(url: origin.url("/held"), handler: recorder)])
      await gate.arrivals(1)
      transport.cancel(recorder)
      _ = await recorder.answer
    }
    // One more turn of the loop, which lets go of a handler when its last call has returned.
    _ = await transport.fetch(origin.url("/good"))
    #expect(handler == nil)
  }
}
