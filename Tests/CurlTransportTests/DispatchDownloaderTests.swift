// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import CurlTransport
import Dispatch
import TestSupport
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite("A batch of Dispatch code on libcurl", .timeLimit(.minutes(2)))
struct DispatchDownloaderTests {
  let origin: MisbehavingOrigin
  let downloader: BatchDownloader
  let queue = DispatchQueue(label: "callbacks")

  init() throws {
    origin = try MisbehavingOrigin()
    origin.onEverythingElse(.echoingPath)
    var options = DownloadOptions()
    options.limitPerHost = 64
    options.retries = 0
    downloader = BatchDownloader(transport: try CurlTransport(), options: options)
  }

  @Test(
    "keeps exactly the limit of the call in flight, as the origin counts", arguments: [1, 3, 16])
  func peak(limit: Int) async throws {
    let gate = MisbehavingOrigin.Gate(opensAt: limit)
    origin.onEverythingElse(.held(at: gate, then: .echoingPath))
    let place = try TemporaryFolder()
    let paths = (0..<100).map { "/\($0)" }
    let urls = paths.map { origin.url($0) }
    let folder = try OutputFolder(path: place.path)
    let files = await report { [downloader, queue] completion in
      downloader.downloadAll(urls, to: folder, limit: limit, queue: queue, completion: completion)
    }
    #expect(origin.record.peakInFlight == limit)
    #expect(files.outcomes.map(\.offset) == Array(0..<100) && files.error == nil)
    #expect(try files.get().map(\.file) == paths.map { String($0.dropFirst()) })
    for path in paths { #expect(place[String(path.dropFirst())] == Array(path.utf8)) }

    let bodies = await report { [downloader, queue] completion in
      downloader.downloadAll(
        urls, limit: limit, atMost: 1000, queue: queue, completion: completion)
    }
    #expect(try bodies.get().map(\.data) == paths.map { Data($0.utf8) })
    #expect(origin.record.peakInFlight == limit)
  }

  @Test("has an outcome for every request, whatever the origin does")
  func outcomes() async throws {
    origin.on("/1", .status(404, "none"))
    origin.on("/2", .endsEarly(after: 3, of: 10))
    origin.on("/3", .redirect(to: "/5"))
    origin.on("/4", .resets(.inBody))
    let urls = (0..<6).map { origin.url("/\($0)") }
    let bodies = await report { [downloader, queue] completion in
      downloader.downloadAll(urls, limit: 2, atMost: 1000, queue: queue, completion: completion)
    }
    #expect(bodies.outcomes.map(\.offset) == Array(0..<6))
    let texts = bodies.outcomes.map {
      (try? $0.get()).map { String(decoding: $0.data, as: UTF8.self) }
    }
    #expect(texts == ["/0", nil, nil, "/5", nil, "/5"])
    #expect(bodies.failures.map(\.status) == [404, nil, nil])
    #expect(bodies.failures.map(\.reason).prefix(2) == [.status, .truncated])
    #expect(bodies.failures.map(\.url) == [urls[1], urls[2], urls[4]])
    #expect(bodies.error == nil && bodies.status.failed == 3)
  }

  @Test("ends as soon as it is cancelled, in the midst of stalled bodies", arguments: [1, 5])
  func cancelled(limit: Int) async throws {
    let gate = MisbehavingOrigin.Gate()
    origin.onEverythingElse(.stalled(.inBody, at: gate))
    origin.on("/0", .echoingPath)
    let urls = (0..<20).map { origin.url("/\($0)") }
    let control = DownloadControl()
    async let canceller: Void = {
      await gate.arrivals(limit)
      control.cancel()
    }()
    let bodies = await report { [downloader, queue] completion in
      downloader.downloadAll(
        urls, limit: limit, atMost: 1 << 20, control: control, queue: queue, completion: completion)
    }
    await canceller
    #expect(bodies.error is CancellationError && bodies.outcomes.count == 20)
    #expect(origin.record.requests.count == limit + 1)
    let first = try bodies.outcomes[0].get()
    #expect(first.data == Data("/0".utf8))
    #expect(bodies.failures.map(\.reason) == Array(repeating: .cancelled, count: 19))
  }

  @Test("holds no more bytes than the bound, whatever is announced")
  func bound() async throws {
    let long = [UInt8](repeating: 7, count: 300_000)
    let chunks = Array(repeating: String(repeating: "x", count: 1000), count: 400)
    origin.onEverythingElse(.ok(long))
    origin.on("/1", .chunked(chunks))
    origin.on("/2", .ok([UInt8](repeating: 1, count: 700_001)))
    let urls = (0..<6).map { origin.url("/\($0)") }
    let bodies = await report { [downloader, queue] completion in
      downloader.downloadAll(
        urls, limit: 1, atMost: 700_000, queue: queue, completion: completion)
    }
    let lengths = bodies.outcomes.map { (try? $0.get())?.data.count }
    #expect(lengths == [300_000, 400_000, nil, nil, nil, nil])
    #expect(bodies.failures.allSatisfy { $0.reason == .tooLarge })
    #expect(bodies.error == nil)
  }

  /// Waits for what a batch calls back with, and for its being the only call.
  private func report<Value>(
    _ begin: (_ completion: @escaping @Sendable (BatchReport<Value>) -> Void) -> Void
  ) async -> BatchReport<Value> {
    let reports = Watched<[BatchReport<Value>]>([])
    begin { report in reports.update { $0.append(report) } }
    await reports.wait { !$0.isEmpty }
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    #expect(reports.value.count == 1)
    return reports.value[0]
  }
}
