// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import CurlTransport
import TestSupport
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite("A batch downloader on libcurl", .timeLimit(.minutes(2)))
struct DownloaderTests {
  let origin: MisbehavingOrigin
  let downloader: BatchDownloader

  init() throws {
    origin = try MisbehavingOrigin()
    origin.onEverythingElse(.echoingPath)
    var options = DownloadOptions()
    options.limitPerHost = 64
    options.retries = 0
    downloader = BatchDownloader(transport: try CurlTransport(), options: options)
  }

  @Test("gives up bodies that find no room, and brings each whole all the same")
  func room() async throws {
    let long = [UInt8](repeating: 7, count: 300_000)
    let chunks = Array(repeating: String(repeating: "x", count: 1000), count: 200)
    for number in 0..<30 {
      origin.on("/\(number)", number % 5 == 4 ? .chunked(chunks) : .ok(long))
    }
    origin.on("/30", .ok([UInt8](repeating: 1, count: 700_001)))
    var lengths: [Int: Int] = [:]
    for try await outcome in downloader.outcomes(
      of: (0...30).map { origin.url("/\($0)") }, limit: 8, atMost: 700_000)
    {
      switch outcome.result {
      case .success(let body): lengths[outcome.offset] = body.data.count
      case .failure(let failure):
        #expect(outcome.offset == 30 && failure.reason == .tooLarge)
      }
    }
    #expect(lengths.count == 30)
    #expect(lengths.allSatisfy { $0.value == ($0.key % 5 == 4 ? 200_000 : 300_000) })
  }

  @Test("fetches ten addresses once each for a thousand callers")
  func coalesced() async throws {
    let gate = MisbehavingOrigin.Gate()
    origin.onEverythingElse(.held(at: gate, then: .echoingPath))
    let count = await withTaskGroup { group in
      for number in 0..<1000 {
        group.addTask { [downloader, url = origin.url("/\(number % 10)")] in
          try? await downloader.data(from: url).data == Data("/\(number % 10)".utf8)
        }
      }
      group.addTask {
        await gate.arrivals(8)
        gate.open()
        return nil
      }
      return await group.reduce(0) { $0 + ($1 == true ? 1 : 0) }
    }
    #expect(count == 1000)
    // Who asks when the answer has been handed over already asks anew.
    #expect(Set(origin.record.requests.map(\.path)).count == 10)
  }
}
