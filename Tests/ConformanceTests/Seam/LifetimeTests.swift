// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import Synchronization
import TestSupport
import Testing

@Suite("Of every transport: its life", .timeLimit(.minutes(1)))
struct LifetimeTests {
  let origin: MisbehavingOrigin
  let gate = MisbehavingOrigin.Gate()

  init() throws {
    origin = try MisbehavingOrigin()
    origin.on("/good", .ok("good"))
    origin.on("/held", .held(at: gate, then: .ok("late")))
    origin.on("/stalled", .stalled(.inBody, at: gate))
  }

  @Test("ends its transfers with it", arguments: Carrier.allCases)
  func release(_ carrier: Carrier) async throws {
    let recorders = (0..<20).map { _ in Recorder() }
    do {
      let transport = try carrier.make()
      transport.start(
        recorders.enumerated().map {
          Transfer(url: origin.url($0 % 2 == 0 ? "/held" : "/stalled"), handler: $1)
        })
      await gate.arrivals(20)
    }
    // The release returned when everything was over.
    for recorder in recorders { #expect(recorder.soFar.end == .cancelled) }
  }

  @Test("ends transfers that it never came to begin", arguments: Carrier.allCases)
  func releaseAtOnce(_ carrier: Carrier) async throws {
    for _ in 0..<50 {
      let recorder = Recorder()
      try carrier.make().start([Transfer(url: origin.url("/held"), handler: recorder)])
      #expect(recorder.soFar.end == .cancelled)
    }
  }

  @Test("may end in a handler that holds its last reference", arguments: Carrier.allCases)
  func releaseInFinish(_ carrier: Carrier) async throws {
    let keeper = Mutex<(any Transport)?>(try carrier.make())
    let other = Recorder()
    let last = Recorder(onFinish: { _, _ in
      let released = keeper.withLock { kept in
        defer { kept = nil }
        return kept
      }
      _ = released
    })
    let good = Transfer(url: origin.url("/good"), handler: last)
    keeper.withLock { $0 }?.start([Transfer(url: origin.url("/held"), handler: other), good])
    #expect(await last.answer.end == .complete)
    #expect(await other.answer.end == .cancelled)
  }

  @Test("lets go of a handler when its transfer has ended", arguments: Carrier.allCases)
  func handlers(_ carrier: Carrier) async throws {
    let transport = try carrier.make()
    weak var ended: Recorder?
    do {
      let recorder = Recorder()
      ended = recorder
      #expect(await transport.fetch(origin.url("/good"), recorder: recorder).end == .complete)
    }
    // A handler is let go of when its last call has returned.
    _ = await transport.fetch(origin.url("/good"))
    #expect(ended == nil)
  }

  @Test("tells those who are refused in the order of their starts", arguments: Carrier.allCases)
  func order(_ carrier: Carrier) async throws {
    let transport = try carrier.make()
    let ended = Mutex<[Int]>([])
    let recorders = (0..<500).map { index in
      Recorder(onFinish: { _, _ in ended.withLock { $0.append(index) } })
    }
    for recorder in recorders {
      transport.start([Transfer(url: "gopher://nowhere", handler: recorder)])
    }
    for recorder in recorders { _ = await recorder.answer }
    #expect(ended.withLock { $0 } == Array(0..<500))
  }

  @Test("lets one handler carry a list, from inside its last call", arguments: Carrier.allCases)
  func again(_ carrier: Carrier) async throws {
    let transport = try carrier.make()
    let left = Mutex(49)
    let (done, whenDone) = AsyncStream.makeStream(of: Void.self)
    final class Repeater: TransferHandler {
      let onFinish: @Sendable (Repeater, TransferEnd) -> Void
      init(_ onFinish: @escaping @Sendable (Repeater, TransferEnd) -> Void) {
        self.onFinish = onFinish
      }
      func receive(head: ResponseHead) -> BodyDecision { .accept }
      func receive(body: UnsafeRawBufferPointer) -> Bool { true }
      func finish(_ end: TransferEnd) { onFinish(self, end) }
    }
    let url = origin.url("/good")
    let repeater = Repeater { repeater, end in
      #expect(end == .complete)
      let isLast = left.withLock { left in
        left -= 1
        return left < 0
      }
      if isLast { return whenDone.finish() }
      transport.start([Transfer(url: url, handler: repeater)])
    }
    transport.start([Transfer(url: url, handler: repeater)])
    for await _ in done {}
    #expect(origin.record.requests.count == 50)
  }
}
