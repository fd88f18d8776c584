// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import CurlTransport
import Dispatch
import Synchronization
import TestSupport
import Testing

@Suite("The order of calls", .timeLimit(.minutes(1)))
struct OrderTests {
  let origin: MisbehavingOrigin

  init() throws {
    origin = try MisbehavingOrigin()
    origin.onEverythingElse(.echoingPath)
  }

  @Test("of one caller is kept", arguments: CurlTransport.Driver.allCases)
  func oneCaller(_ driver: CurlTransport.Driver) async throws {
    let transport = try CurlTransport(driver: driver)
    // All that are refused before libcurl begins end in the order in which they were started.
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

  @Test(
    "lets no handler's cancellation overtake the start that came before it",
    arguments: CurlTransport.Driver.allCases)
  func cancelFromHandler(_ driver: CurlTransport.Driver) async throws {
    let gate = MisbehavingOrigin.Gate()
    origin.on("/held", .held(at: gate, then: .ok("late")))
    let transport = try CurlTransport(driver: driver)
    let isThere = DispatchSemaphore(value: 0)
    let isStarted = DispatchSemaphore(value: 0)
    let victim = Recorder()
    // The loop is in this handler while another thread starts what the handler then cancels.
    let killer = Recorder(onFinish: { [unowned transport] _, _ in
      isThere.signal()
      isStarted.wait()
      transport.cancel(victim)
    })
    let url = origin.url("/held")
    DispatchQueue.global().async {
      isThere.wait()
      transport.start([Transfer(url: url, handler: victim)])
      isStarted.signal()
    }
    #expect(await transport.fetch(origin.url("/good"), recorder: killer).end == .complete)
    #expect(await victim.answer.end == .cancelled)
    withExtendedLifetime(transport) {}
  }

  @Test(
    "lets a handler be used again from inside its last call",
    arguments: CurlTransport.Driver.allCases)
  func again(_ driver: CurlTransport.Driver) async throws {
    let transport = try CurlTransport(driver: driver)
    let handler = Repeater(urls: (0..<50).map { origin.url("/\($0)") }, transport: transport)
    let ends = await handler.run()
    #expect(ends.count == 50)
    #expect(ends.allSatisfy { $0 == .complete })
    withExtendedLifetime(transport) {}
  }

  /// One handler for a whole list, one address after the other.
  private final class Repeater: TransferHandler {
    private let left: Mutex<[String]>
    private let ends = Mutex<[TransferEnd]>([])
    private let (done, whenDone) = AsyncStream.makeStream(of: Void.self)
    private unowned let transport: CurlTransport

    init(urls: [String], transport: CurlTransport) {
      left = Mutex(urls)
      self.transport = transport
    }

    func run() async -> [TransferEnd] {
      next()
      for await _ in done { break }
      return ends.withLock { $0 }
    }

    private func next() {
      guard let url = left.withLock({ $0.popLast() }) else {
        whenDone.yield()
        return
      }
      transport.start([Transfer(url: url, handler: self)])
    }

    func receive(head: ResponseHead) -> BodyDecision { .accept }
    func receive(body: UnsafeRawBufferPointer) -> Bool { true }

    func finish(_ end: TransferEnd) {
      ends.withLock { $0.append(end) }
      next()
    }
  }
}
