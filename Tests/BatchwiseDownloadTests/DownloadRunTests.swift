// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseDownload

@Suite(.timeLimit(.minutes(2)))
struct DownloadRunTests {
  @Test(
    "As many are in flight as the limit says, and never more, over the whole list",
    arguments: [1, 2, 3, 7, 300])
  func limit(limit: Int) async throws {
    let folder = try TemporaryFolder()
    let addresses = (0..<max(50, limit * 2)).map { "http://h/\($0)" }
    let arrived = Watched(0)
    let fetch = try Fetch(into: folder, limit: limit) { url in
      // The first ones wait for each other: only a full house lets any of them go on.
      arrived.update { $0 += 1 }
      await arrived.wait { $0 >= limit }
      return .file(url)
    }
    let report = await fetch.run(addresses)

    #expect(fetch.transport.record.value.peak == limit)
    #expect(report.status.peakInFlight == limit)
    #expect(report.ending == .listDone)
    #expect(report.status.done == addresses.count)
    #expect(report.status.items == addresses.count)
    #expect(report.status.inFlight == 0 && report.status.waiting == 0)
    #expect(report.status.bytes == addresses.reduce(0) { $0 + Int64($1.utf8.count) })
    #expect(report.status.received == report.status.bytes)
    #expect(fetch.log.startedURLs == addresses, "Started in the order of the list")
    #expect(folder.names == (0..<addresses.count).map { "\($0)" }.sorted())
    for address in addresses {
      #expect(folder[String(address.dropFirst(9))] == Array(address.utf8))
    }
  }

  @Test("With one in flight the requests are made in the order of the list")
  func oneByOne() async throws {
    let addresses = (0..<100).map { "http://h/\($0)" }
    let fetch = try Fetch(limit: 1) { .file($0) }
    await fetch.run(addresses)
    #expect(fetch.transport.record.value.urls == addresses)
    #expect(
      fetch.log.events.map(\.kind.word)
        == Array(repeating: ["started", "done"], count: 100).flatMap { $0 })
  }

  @Test("Every line ends in exactly one event, with its own number, whatever became of it")
  func everyLineEndsOnce() async throws {
    let folder = try TemporaryFolder()
    let items = (1...300).map { line in
      switch line % 6 {
      case 0: WorkItem(line: line, address: "no address \(line)")
      case 1: WorkItem(line: line, address: "http://h/first")
      case 2: WorkItem(line: line, address: "http://h/\(line)?status=404")
      case 3: WorkItem(line: line, address: "http://h/\(line)?lost")
      default: WorkItem(line: line, address: "http://u:p@h/\(line)")
      }
    }
    let fetch = try Fetch(into: folder) { url in
      if url.hasSuffix("404") { return .status(404) }
      if url.hasSuffix("lost") { return .end(.failed(DownloadFailure(.connect, "Lost"))) }
      return .file(url)
    }
    let report = await fetch.run(
      FakeSource { time, _ in time <= 3 ? Array(items[(time * 100 - 100)..<(time * 100)]) : nil })

    let endings = fetch.log.endings
    #expect(endings.count == 300)
    #expect(endings.values.allSatisfy { $0.count == 1 })
    let words = endings.values.map { $0[0].word }
    #expect(words.count { $0 == "done" } == 101 && report.status.done == 101)
    #expect(words.count { $0 == "failed" } == 150 && report.status.failed == 150)
    #expect(words.count { $0 == "skipped" } == 49 && report.status.skipped == 49)
    for event in fetch.log.events {
      #expect(event.id == event.line)
      #expect(!event.url.contains("u:p"))
    }
    #expect(report.status.isListRead)
    #expect(folder.names.count == 101)
  }

  @Test("A failure touches no other item, and names its line and what is wrong")
  func failures() async throws {
    let items = [
      WorkItem(line: 2, address: "ftp://u:p@h/a"), WorkItem(line: 4, address: "http://h/b"),
      WorkItem(line: 5, address: "http://h/c", flaw: DownloadFailure(.badURL, "Bad")),
      WorkItem(line: 9, address: "http://h/d"),
    ]
    let fetch = try Fetch { url in
      url.hasSuffix("b") ? .end(.failed(DownloadFailure(.dns, "Unknown"))) : .file(url)
    }
    let report = await fetch.run(FakeSource { time, _ in time == 1 ? items : nil })
    #expect(
      fetch.log.failures.mapValues(\.reason) == [
        "h/a": .badURL, "http://h/b": .dns, "http://h/c": .badURL,
      ])
    #expect(Set(fetch.log.events.map(\.line)) == [2, 4, 5, 9])
    #expect(fetch.log.files == ["http://h/d": "d"])
    #expect(report.ending == .listDone)
    // What never became a request was never tried.
    for event in fetch.log.events {
      if case .failed(let failure, let attempts) = event.kind {
        #expect(attempts == (failure.reason == .dns ? 1 : 0))
      }
    }
  }

  @Test("An address that comes again is one transfer, with one file and one skip")
  func duplicates() async throws {
    let folder = try TemporaryFolder()
    let fetch = try Fetch(into: folder) { .file($0) }
    let report = await fetch.run(["http://h/a", "http://h/b", "http://h/a", "HTTP://h/a#x"])
    #expect(fetch.transport.record.value.urls.sorted() == ["http://h/a", "http://h/b"])
    #expect(fetch.log.endings[3] == [.skipped(.duplicate, file: nil)])
    #expect(fetch.log.endings[4] == [.skipped(.duplicate, file: nil)])
    #expect(report.status.skipped == 2)
    #expect(folder.names == ["a", "b"])
  }

  @Test("Pauses that are over as soon as they begin are not slept through")
  func shortPauses() async throws {
    var options = DownloadOptions.limited(to: 16)
    options.retries = 3
    options.backoff = .constant(.nanoseconds(1), jitter: .none)
    for _ in 1...30 {
      let asked = Watched<[String: Int]>([:])
      let fetch = try Fetch(options: options) { url in
        let attempt = asked.update { asked in
          asked[url, default: 0] += 1
          return asked[url]
        }
        if attempt == 4 { return .status(404) }
        return .end(.failed(DownloadFailure(.truncated, "Cut off", remedy: .anotherAttempt)))
      }
      let report = await fetch.run((1...50).map { "http://h/\($0)" })
      #expect(report.status.failed == 50)
      #expect(asked.value.values.allSatisfy { $0 == 4 })
    }
  }

  @Test("An empty list is done, and makes no file")
  func emptyList() async throws {
    let folder = try TemporaryFolder()
    let fetch = try Fetch(into: folder) { .file($0) }
    let report = await fetch.run([])
    #expect(report.ending == .listDone)
    #expect(report.status.items == 0)
    #expect(fetch.log.events == [])
    #expect(folder.names == [])
  }

  @Test("An item starts while the list is still being written")
  func startsAtOnce() async throws {
    let hasStarted = Gate()
    let fetch = try Fetch { url in
      hasStarted.open()
      return .file(url)
    }
    let report = await fetch.run(
      FakeSource { time, _ in
        if time == 1 { return [WorkItem(address: "http://h/a")] }
        await hasStarted.pass()
        return nil
      })
    #expect(report.status.done == 1)
  }

  @Test("The list is read no further ahead than the window")
  func readAhead() async throws {
    let gate = Gate()
    let read = Watched(0)
    let fetch = try Fetch(limit: 1) { url in
      await gate.pass()
      return .file(url)
    }
    async let report = fetch.run(
      FakeSource { _, count in
        let first = read.value
        if first == 4000 { return nil }
        let items = (first..<min(first + count, 4000)).map { WorkItem(address: "http://h/\($0)") }
        read.update { $0 += items.count }
        return items
      })
    // Nothing is left to happen: one is in flight, and no more room is in the window.
    await read.wait { $0 >= DownloadState.window }
    while fetch.downloader.status.waiting <= DownloadState.window / 2 { await Task.yield() }
    #expect(read.value <= DownloadState.window + HostTable.mostHeld)
    gate.open()
    #expect(await report.status.done == 4000)
  }

  @Test("A limit below 1, and a second run, are programming errors that say so")
  func misuse() async throws {
    let noLimit = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = try Fetch(limit: 0) { .file($0) }
    }
    #expect(says(noLimit, "The limit must be at least 1, not 0"))
    let secondRun = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let fetch = try Fetch { .file($0) }
      await fetch.run([])
      await fetch.run([])
    }
    #expect(says(secondRun, "A downloader runs once"))
  }

  private func says(_ result: ExitTest.Result?, _ message: String) -> Bool {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self).contains(message)
  }

  @Test("A downloader and its downloads are gone when the run is over")
  func noCycles() async throws {
    let folder = try TemporaryFolder()
    weak var downloader: DownloadRun?
    weak var transport: FakeTransport?
    do {
      let fetch = try Fetch(into: folder) { .file($0) }
      await fetch.run((0..<20).map { "http://h/\($0)" })
      downloader = fetch.downloader
      transport = fetch.transport
    }
    // The tasks of the fake transport may be a moment from their ends.
    while downloader != nil || transport != nil { await Task.yield() }
  }
}
