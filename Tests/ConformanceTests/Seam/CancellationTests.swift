// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import Synchronization
import TestSupport
import Testing

@Suite("Of every transport: cancelling a transfer", .timeLimit(.minutes(1)))
struct CancellationTests {
  let origin: MisbehavingOrigin
  let gate = MisbehavingOrigin.Gate()

  init() throws {
    origin = try MisbehavingOrigin()
    origin.on("/good", .ok("good"))
    origin.on("/held", .held(at: gate, then: .ok("late")))
    origin.on("/stalled", .stalled(.inBody, at: gate))
  }

  @Test("before it was begun leaves a later start alone", arguments: Carrier.allCases)
  func beforeStart(_ carrier: Carrier) async throws {
    let transport = try carrier.make()
    let recorder = Recorder()
    transport.cancel(recorder)
    #expect(await transport.fetch(origin.url("/good"), recorder: recorder).end == .complete)
  }

  @Test("right after its start ends it", arguments: Carrier.allCases)
  func afterStart(_ carrier: Carrier) async throws {
    let transport = try carrier.make()
    for _ in 0..<50 {
      let recorder = Recorder()
      transport.start([Transfer(url: origin.url("/held"), handler: recorder)])
      transport.cancel(recorder)
      #expect(await recorder.answer.end == .cancelled)
    }
  }

  @Test("in flight ends it, and no other", arguments: Carrier.allCases, ["/held", "/stalled"])
  func inFlight(_ carrier: Carrier, _ path: String) async throws {
    let transport = try carrier.make()
    let first = Recorder()
    let second = Recorder()
    transport.start([
      Transfer(url: origin.url(path), handler: first),
      Transfer(url: origin.url("/stalled"), handler: second),
    ])
    await gate.arrivals(2)
    transport.cancel(first)
    transport.cancel(first)
    #expect(await first.answer.end == .cancelled)
    #expect(second.soFar.end == nil)
    gate.open()
    #expect(await second.answer.body == "0123456789")
    #expect(await transport.fetch(origin.url("/good")).body == "good")
  }

  @Test("after its end changes nothing", arguments: Carrier.allCases)
  func afterEnd(_ carrier: Carrier) async throws {
    let transport = try carrier.make()
    let recorder = Recorder()
    #expect(await transport.fetch(origin.url("/good"), recorder: recorder).end == .complete)
    transport.cancel(recorder)
    #expect(await transport.fetch(origin.url("/good")).end == .complete)
  }

  @Test("from inside its own calls ends it", arguments: Carrier.allCases)
  func fromInside(_ carrier: Carrier) async throws {
    let transport = try carrier.make()
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

  @Test("of another from inside a handler ends that", arguments: Carrier.allCases)
  func another(_ carrier: Carrier) async throws {
    let transport = try carrier.make()
    let victim = Recorder()
    transport.start([Transfer(url: origin.url("/held"), handler: victim)])
    await gate.arrivals(1)
    let killer = Recorder(onFinish: { _, _ in transport.cancel(victim) })
    #expect(await transport.fetch(origin.url("/good"), recorder: killer).end == .complete)
    #expect(await victim.answer.end == .cancelled)
  }

  @Test("races with its end, and one of the two wins", arguments: Carrier.allCases)
  func race(_ carrier: Carrier) async throws {
    let transport = try carrier.make()
    origin.on("/away", .redirect(to: "/good", body: "moved"))
    origin.on(
      "/no", .raw("HTTP/1.1 401 No\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"))
    await withTaskGroup { group in
      for path in ["/good", "/good", "/away", "/away", "/no", "/good", "/away", "/no"] {
        group.addTask {
          for _ in 0..<60 {
            let recorder = Recorder()
            transport.start([Transfer(url: origin.url(path), handler: recorder)])
            await Task.yield()
            transport.cancel(recorder)
            let end = await recorder.answer.end
            let whole: TransferEnd =
              path == "/away" ? .redirect(to: origin.url("/good")) : .complete
            #expect(end == .cancelled || end == whole)
          }
        }
      }
    }
  }

  @Test("frees its handler to be used again", arguments: Carrier.allCases)
  func release(_ carrier: Carrier) async throws {
    let transport = try carrier.make()
    let recorder = Recorder()
    transport.start([Transfer(url: origin.url("/held"), handler: recorder)])
    await gate.arrivals(1)
    let next = Recorder()
    let again = Recorder(onFinish: { _, _ in
      transport.start([Transfer(url: origin.url("/good"), handler: next)])
    })
    transport.start([Transfer(url: origin.url("/held"), handler: again)])
    await gate.arrivals(2)
    transport.cancel(again)
    #expect(await next.answer.body == "good")
    transport.cancel(recorder)
    #expect(await recorder.answer.end == .cancelled)
  }

  @Test("of every third leaves the others their own bodies", arguments: Carrier.allCases)
  func many(_ carrier: Carrier) async throws {
    let transport = try carrier.make()
    let body = String(repeating: "x", count: 50_000)
    origin.onEverythingElse(
      MisbehavingOrigin.Behaviour { exchange in
        MisbehavingOrigin.Behaviour.ok(exchange.request.path + body).play(exchange)
      })
    await withTaskGroup { group in
      for lane in 0..<8 {
        group.addTask {
          for number in 0..<60 {
            let path = "/\(lane)-\(number)"
            let isCancelled = number % 3 == 1
            let recorder = Recorder(onHead: { if isCancelled { transport.cancel($0) } })
            let answer = await transport.fetch(origin.url(path), recorder: recorder)
            let own = Array((path + body).utf8)
            let isWhole = answer.end == .complete && answer.bytes == own
            let isPart = answer.end == .cancelled && own.starts(with: answer.bytes)
            #expect(isWhole || isCancelled && isPart)
          }
        }
      }
    }
  }
}
