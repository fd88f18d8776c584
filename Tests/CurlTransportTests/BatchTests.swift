// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import CurlTransport
import Synchronization
import TestSupport
import Testing

@Suite("A batch", .timeLimit(.minutes(2)))
struct BatchTests {
  let origin: MisbehavingOrigin

  init() throws {
    origin = try MisbehavingOrigin()
    origin.onEverythingElse(.echoingPath)
  }

  private func expectEcho(_ result: Batch.Result, of paths: [String]) {
    #expect(result.ends.allSatisfy { $0 == .complete })
    #expect(result.nested == 0, "finish must not be called from inside finish")
    for (body, path) in zip(result.bodies, paths) where body != Array(path.utf8) {
      Issue.record("\(path) was given the body \(String(decoding: body, as: UTF8.self))")
    }
  }

  @Test(
    "is done at every limit, each item with its own body",
    arguments: CurlTransport.Driver.allCases, [1, 2, 3, 16, 64])
  func everyLimit(_ driver: CurlTransport.Driver, _ limit: Int) async throws {
    let paths = (0..<600).map { "/item/\($0)" }
    let transport = try CurlTransport(driver: driver)
    let result = await Batch(paths.map { origin.url($0) }, transport: transport).run(limit: limit)
    expectEcho(result, of: paths)
    #expect(origin.record.requests.count == paths.count)
    #expect(origin.record.connections <= limit, "connections are used again")
  }

  @Test(
    "keeps exactly its limit in flight",
    arguments: CurlTransport.Driver.allCases, [1, 2, 3, 16, 64])
  func peak(_ driver: CurlTransport.Driver, _ limit: Int) async throws {
    // No request is answered before as many as the limit allows have come.
    let gate = MisbehavingOrigin.Gate(opensAt: limit)
    origin.onEverythingElse(.held(at: gate, then: .echoingPath))
    let paths = (0..<(limit * 3)).map { "/item/\($0)" }
    let transport = try CurlTransport(driver: driver)
    let result = await Batch(paths.map { origin.url($0) }, transport: transport).run(limit: limit)
    expectEcho(result, of: paths)
    #expect(origin.record.peakInFlight == limit)
  }

  @Test("may be started from many threads at once", arguments: CurlTransport.Driver.allCases)
  func manyThreads(_ driver: CurlTransport.Driver) async throws {
    let transport = try CurlTransport(driver: driver)
    await withTaskGroup { group in
      for task in 0..<16 {
        group.addTask {
          for item in 0..<40 {
            let path = "/\(task)/\(item)"
            let answer = await transport.fetch(origin.url(path))
            #expect(answer.body == path)
            #expect(answer.end == .complete)
          }
        }
      }
    }
  }

  @Test("may be started whole in one call", arguments: CurlTransport.Driver.allCases)
  func oneCall(_ driver: CurlTransport.Driver) async throws {
    let transport = try CurlTransport(driver: driver)
    let recorders = (0..<100).map { _ in Recorder() }
    transport.start(
      recorders.enumerated().map { Transfer(url: origin.url("/\($0)"), handler: $1) })
    for (index, recorder) in recorders.enumerated() {
      let answer = await recorder.answer
      #expect(answer.body == "/\(index)")
    }
    transport.start([])
  }

  @Test("of addresses that all fail at once goes on", arguments: CurlTransport.Driver.allCases)
  func failsAtOnce(_ driver: CurlTransport.Driver) async throws {
    // Each is refused before libcurl begins; started from one another, 50,000 of them would
    // overflow the stack if a start began anything itself.
    let transport = try CurlTransport(driver: driver)
    let urls = [String](repeating: "gopher://nowhere", count: 50_000)
    let result = await Batch(urls, transport: transport).run(limit: 3)
    #expect(result.ends.allSatisfy { $0.reason == .badURL })
    #expect(result.nested == 0)
  }

  @Test("goes on when its server drops connections", arguments: CurlTransport.Driver.allCases)
  func droppedConnections(_ driver: CurlTransport.Driver) async throws {
    let transport = try CurlTransport(driver: driver)
    let paths = (0..<300).map { "/item/\($0)" }
    for behaviour: MisbehavingOrigin.Behaviour in [
      .closesAfter(7, .echoingPath),
      .dropsAfter(7, .echoingPath),
      .dropsAfter(7, .echoingPath, withReset: true),
    ] {
      origin.onEverythingElse(behaviour)
      let result = await Batch(paths.map { origin.url($0) }, transport: transport).run(limit: 4)
      expectEcho(result, of: paths)
    }
  }
}
