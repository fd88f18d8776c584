// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Synchronization
import TestSupport
import Testing

@testable import BatchwiseDownload

@Suite("A batch that somebody looks at", .timeLimit(.minutes(1)))
struct LiveBatchTests {
  private func items(_ range: Range<Int>) -> [WorkItem] {
    range.map { WorkItem(address: "http://h/\($0)") }
  }

  /// Waits until the rows are as wanted.
  private func wait(_ live: LiveBatch, until isReached: (LiveBatch.Counts) -> Bool) async {
    while case let counts = live.counts, !isReached(counts) {
      await live.waitForChange(since: counts.version)
    }
  }

  @Test("It grows while it runs, starts nothing before it is started, and ends when it is finished")
  func grows() async throws {
    let live = LiveBatch()
    let fetch = try Fetch(limit: 3) { .file($0) }
    live.add(items(0..<5))
    async let report = fetch.downloader.run(live.source, reportingTo: live)
    #expect(live.counts.kinds[.waiting] == 5)
    live.start()
    await wait(live) { $0.isSettled }
    live.add(items(5..<9))
    await wait(live) { $0.all == 9 && $0.isSettled }
    live.finish()
    live.add(items(9..<10))
    #expect(await report.status.done == 9)
    #expect(live.rows().rows.map(\.file) == (0..<9).map { "\($0)" })
  }

  @Test(
    "What failed is done in the same run when it is asked for again, and counts as failed no more")
  func retry() async throws {
    let live = LiveBatch()
    let tries = Mutex<[String: Int]>([:])
    let fetch = try Fetch(limit: 2, journal: MemoryJournal()) { url in
      let count = tries.withLock { tries in
        tries[url, default: 0] += 1
        return tries[url, default: 0]
      }
      return url.hasSuffix("1") && count < 3 ? .status(404) : .file(url)
    }
    live.add(items(0..<3))
    live.start()
    async let report = fetch.downloader.run(live.source, reportingTo: live)
    await wait(live) { $0.isSettled }
    #expect(live.row(1)?.failure?.status == 404)
    #expect(fetch.downloader.status.failed == 1)
    #expect(live.retryFailed() == 1)
    await wait(live) { $0.isSettled }
    #expect(fetch.downloader.status.failed == 1)
    #expect(live.retry(1))
    await wait(live) { $0.kinds[.done] == 3 }
    live.finish()
    let status = await report.status
    #expect(status.done == 3 && status.failed == 0 && status.left == 0 && status.skipped == 0)
    #expect(live.unfinished(.url).isEmpty)
  }

  @Test("A cancel leaves everything, and a start goes on with it under the same names")
  func cancel() async throws {
    let live = LiveBatch()
    let isOpen = Watched(false)
    let fetch = try Fetch(limit: 2) { url in
      await isOpen.wait { $0 }
      return .file(url)
    }
    live.add(items(0..<1000))
    live.start()
    async let report = fetch.downloader.run(live.source, reportingTo: live)
    await fetch.transport.record.wait { $0.inFlight == 2 }
    live.cancel(in: fetch.downloader)
    await wait(live) { $0.kinds[.left] == 1000 }
    #expect(fetch.downloader.status.inFlight == 0)
    live.start()
    #expect(live.counts.kinds[.waiting] == 1000)
    isOpen.update { $0 = true }
    await wait(live) { $0.kinds[.done] == 1000 }
    live.finish()
    let status = await report.status
    #expect(status.done == 1000 && status.left == 0 && status.failed == 0)
    #expect(fetch.folder.names == (0..<1000).map { "\($0)" }.sorted())
  }

  @Test("What is in flight when the run ends is left, and so is what was never handed out")
  func end() async throws {
    let live = LiveBatch()
    let fetch = try Fetch(limit: 2) { url in
      await Watched(false).wait { $0 }
      return .file(url)
    }
    live.add(items(0..<1000))
    live.start()
    let run = Task { await fetch.downloader.run(live.source, reportingTo: live) }
    await fetch.transport.record.wait { $0.inFlight == 2 }
    run.cancel()
    let report = await run.value
    live.end()
    #expect(report.status.left == 1000)
    #expect(live.counts.kinds[.left] == 1000)
    #expect(live.unfinished(.url).map(\.address) == items(0..<1000).map(\.address))
  }

  @Test("A list is read to its end, beside what is added meanwhile")
  func list() async throws {
    let live = LiveBatch()
    var list = WorkList(addresses: (0..<2000).map { "http://h/\($0)" })
    live.add(items(5000..<5001))
    var count = 0
    try await live.add(contentsOf: &list, counting: &count)
    #expect(count == 2000)
    #expect(live.counts.all == 2001)
    #expect(live.rows(from: 2000).rows.first?.url == "http://h/1999")
  }

  @Test("A cancel leaves what waits behind another item's path, and a start gives all their turn")
  func behind() async throws {
    let live = LiveBatch()
    let isOpen = Watched(false)
    var options = DownloadOptions.limited(to: 3)
    options.collisions = .overwrite
    let fetch = try Fetch(options: options) { url in
      await isOpen.wait { $0 }
      return .file(url)
    }
    var same = items(0..<3)
    for index in same.indices { same[index].name = "same" }
    live.add(same)
    live.start()
    async let report = fetch.downloader.run(live.source, reportingTo: live)
    await fetch.transport.record.wait { $0.inFlight == 1 }
    live.cancel(in: fetch.downloader)
    await wait(live) { $0.kinds[.left] == 3 }
    #expect(fetch.transport.record.value.urls.count == 1)
    live.start()
    isOpen.update { $0 = true }
    await wait(live) { $0.kinds[.done] == 3 }
    live.finish()
    let status = await report.status
    #expect(status.done == 3 && status.left == 0 && status.waiting == 0)
    #expect(fetch.folder.names == ["same"])
  }

  @Test("A row keeps the number of its place, in whichever order rows are handed out")
  func numbers() async throws {
    let live = LiveBatch()
    var options = DownloadOptions.limited(to: 2)
    options.naming = .index
    let fetch = try Fetch(options: options) { url in
      await Watched(url.hasSuffix("first")).wait { $0 }
      return .file(url)
    }
    live.add(items(0..<3))
    live.start()
    async let report = fetch.downloader.run(live.source, reportingTo: live)
    await fetch.transport.record.wait { $0.inFlight == 2 }
    live.cancel(in: fetch.downloader)
    await wait(live) { $0.kinds[.left] == 3 }
    live.add([WorkItem(address: "http://h/first")])
    #expect(live.retry(3) == false)
    live.start()
    await wait(live) { $0.kinds[.done] == 1 }
    #expect(live.row(3)?.file == "00000004")
    #expect(live.unfinished(.index).map(\.name) == ["00000001", "00000002", "00000003"])
    live.cancel(in: fetch.downloader)
    await wait(live) { $0.isSettled }
    live.finish()
    live.start()
    fetch.downloader.stop()
    _ = await report
  }
}
