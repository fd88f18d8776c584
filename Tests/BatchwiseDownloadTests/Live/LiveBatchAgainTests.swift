// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseDownload

@Suite("A batch that somebody looks at, gone on with", .timeLimit(.minutes(1)))
struct LiveBatchAgainTests {
  private func items(_ range: Range<Int>) -> [WorkItem] {
    range.map { WorkItem(address: "http://h/\($0)") }
  }

  private func wait(_ live: LiveBatch, until isReached: (LiveBatch.Counts) -> Bool) async {
    while case let counts = live.counts, !isReached(counts) {
      await live.waitForChange(since: counts.version)
    }
  }

  @Test("Started before everything is left that was cancelled, it goes on with all of it")
  func startedAtOnce() async throws {
    let live = LiveBatch()
    let isOpen = Watched(false)
    let fetch = try Fetch(limit: 3) { url in
      await isOpen.wait { $0 }
      return .file(url)
    }
    live.add(items(0..<300))
    live.start()
    async let report = fetch.downloader.run(live.source, reportingTo: live)
    for _ in 0..<20 {
      await fetch.transport.record.wait { $0.inFlight == 3 }
      live.cancel(in: fetch.downloader)
      live.start()
    }
    isOpen.update { $0 = true }
    await wait(live) { $0.kinds[.done] == 300 }
    live.finish()
    let status = await report.status
    #expect(status.done == 300 && status.left == 0 && status.failed == 0)
  }

  @Test("Another run goes on with what the first one has left, and tries again what failed in it")
  func anotherRun() async throws {
    let live = LiveBatch()
    let journal = MemoryJournal()
    let isWell = Watched(false)
    let answer: @Sendable (String) async -> FakeTransport.Answer = { url in
      if isWell.value { return .file(url) }
      if url.hasSuffix("0") { return .status(404) }
      await Watched(false).wait { $0 }
      return .file(url)
    }
    let first = try Fetch(limit: 2, journal: journal, answer)
    live.add(items(0..<9))
    live.start()
    let run = Task { await first.downloader.run(live.source, reportingTo: live) }
    await wait(live) { $0.kinds[.failed] == 1 && $0.kinds[.inFlight] == 2 }
    run.cancel()
    _ = await run.value
    live.end()
    #expect(live.counts.kinds[.left] == 8)
    isWell.update { $0 = true }
    #expect(live.retryFailed() == 1)
    live.start()
    live.finish()
    let second = try Fetch(into: first.folder, limit: 2, journal: journal, answer)
    let status = await second.downloader.run(live.source, reportingTo: live).status
    #expect(status.done == 9 && status.left == 0 && status.failed == 0 && status.skipped == 0)
    #expect(live.counts.kinds[.done] == 9)
  }

  @Test("Of a batch that takes note of it, the changed rows are told once, in their order")
  func changes() async throws {
    let (silent, live) = (LiveBatch(), LiveBatch(notesChanges: true))
    let fetch = try Fetch(limit: 3) { .file($0) }
    silent.add(items(0..<3))
    live.add(items(0..<5))
    #expect(silent.takeChanges().rows.isEmpty)
    #expect(live.takeChanges().rows.map(\.id) == Array(0..<5))
    #expect(live.takeChanges().rows.isEmpty && live.takeChanges().counts.all == 5)
    live.start()
    live.finish()
    _ = await fetch.downloader.run(live.source, reportingTo: live)
    let rows = live.takeChanges().rows
    #expect(rows.map(\.kind) == Array(repeating: .done, count: 5) && rows.map(\.id) == Array(0..<5))
    live.noteChange()
    #expect(live.takeChanges().rows.isEmpty)
  }
}
