// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseTesting
import Dispatch
import TestSupport
import Testing

@testable import BatchwiseDownload

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite(.timeLimit(.minutes(1)))
struct DispatchBatchTests {
  @Test("Outcomes are in the order of the list, whatever the order in which they came")
  func order() async throws {
    let first = Gate()
    let setting = try FaceSetting { url in
      if url == "http://h/0" { await first.pass() }
      if url == "http://h/49" { first.open() }
      return .file(url)
    }
    let urls = addresses(0..<50)
    let log = CallbackLog<FileResult>()
    setting.begin(urls, log)
    let report = await log.report()
    #expect(report.isComplete(50) && log.isOrderly && report.error == nil)
    #expect(report.outcomes.map(\.request.url) == urls)
    #expect(try report.get().map(\.file) == (0..<50).map { "\($0)" })
    #expect(report.status.done == 50 && report.status.isListRead)
    #expect(setting.place["49"] == Array(urls[49].utf8))

    let bodies = CallbackLog<DownloadedBody>()
    setting.begin(urls, atMost: 10_000, bodies)
    let second = await bodies.report()
    #expect(second.isComplete(50) && bodies.isOrderly)
    #expect(try second.get().map(\.data) == urls.map { Data($0.utf8) })
    #expect(setting.place.files.count == 50)
  }

  @Test("The peak in flight equals the limit of the call", arguments: [1, 3, 16])
  func peak(limit: Int) async throws {
    let arrived = Watched(0)
    let setting = try FaceSetting(options: .limited(to: 16)) { url in
      arrived.update { $0 += 1 }
      await arrived.wait { $0 >= limit }
      return .file(url)
    }
    let log = CallbackLog<FileResult>()
    setting.begin(addresses(0..<64), limit: limit, log)
    let report = await log.report()
    #expect(setting.transport.record.value.peak == limit)
    #expect(report.status.peakInFlight == limit && report.successes == 64)
  }

  @Test("A failure is the outcome of its request, and the others go on", arguments: [false, true])
  func failures(inMemory: Bool) async throws {
    let setting = try FaceSetting { url in
      switch url {
      case "http://u:p@h/1": .status(404)
      case "http://h/3": .end(.failed(DownloadFailure(.connect, "No")))
      default: .file(url)
      }
    }
    let urls = ["http://h/0", "http://u:p@h/1", "no address", "http://h/3", "http://h/4"]
    let failures: [DownloadFailure]
    if inMemory {
      let log = CallbackLog<DownloadedBody>()
      setting.begin(urls, atMost: 1000, log)
      let report = await log.report()
      #expect(report.isComplete(5) && report.error == nil && report.successes == 2)
      #expect(throws: DownloadFailure.self) { try report.get() }
      failures = report.failures
    } else {
      let log = CallbackLog<FileResult>()
      setting.begin(urls, log)
      let report = await log.report()
      #expect(report.isComplete(5) && report.error == nil && report.successes == 2)
      #expect(setting.place.files == ["0", "4"])
      failures = report.failures
    }
    #expect(failures.map(\.reason) == [.status, .badURL, .connect])
    #expect(failures.map(\.status) == [404, nil, nil])
    #expect(failures.map(\.url) == ["http://h/1", "no address", "http://h/3"])
  }

  @Test("Equal requests are one transfer, and each has its outcome, failures too")
  func duplicates() async throws {
    let setting = try FaceSetting { $0.hasSuffix("b") ? .status(500) : .file($0) }
    let urls = ["http://h/a", "http://h/b", "http://h/a", "HTTP://h/b#x", "http://h/a"]
    let log = CallbackLog<FileResult>()
    setting.begin(urls, limit: 1, log)
    let report = await log.report()
    #expect(report.isComplete(5) && report.outcomes.map(\.request.url) == urls)
    #expect(report.outcomes.map { try? $0.get().file } == ["a", nil, "a", nil, "a"])
    #expect(setting.requests == 2)

    // So many bytes as there are, once each.
    let bodies = CallbackLog<DownloadedBody>()
    setting.begin(urls, limit: 1, atMost: 10, bodies)
    let second = await bodies.report()
    #expect(
      second.isComplete(5)
        && second.outcomes.map { $0.result.failure?.status } == [
          nil, 500, nil, 500, nil,
        ])
    #expect(setting.requests == 4)
  }

  @Test("Bodies hold no more than the bound, and one that does not fit fails alone")
  func bound() async throws {
    let setting = try FaceSetting { url in .file(url == "http://h/2" ? "1234567890" : "12345") }
    let log = CallbackLog<DownloadedBody>()
    setting.begin(addresses(0..<6), limit: 1, atMost: 24, log)
    let report = await log.report()
    // Five, five, ten, and five; then there is no room for five more, and none is ever given back.
    #expect(report.isComplete(6) && report.error == nil)
    #expect(report.outcomes.map { (try? $0.get())?.data.count } == [5, 5, 10, nil, nil, nil])
    #expect(report.reasons == [.tooLarge: 3])
    #expect(setting.requests == 6, "Each of them was asked for")

    let none = CallbackLog<DownloadedBody>()
    setting.begin(addresses(0..<3), atMost: 0, none)
    #expect(await none.report().reasons == [.tooLarge: 3])
  }

  @Test("An empty list is over at once, and told so once", arguments: [false, true])
  func empty(isCancelled: Bool) async throws {
    let setting = try FaceSetting { .file($0) }
    let log = CallbackLog<FileResult>()
    let bodies = CallbackLog<DownloadedBody>()
    let controls = (DownloadControl(), DownloadControl())
    if isCancelled {
      controls.0.cancel()
      controls.1.cancel()
    }
    setting.begin([String](), control: controls.0, log)
    setting.begin([String](), atMost: 0, control: controls.1, bodies)
    let report = await log.report()
    #expect(report.isComplete(0) && report.error == nil && log.isOrderly)
    #expect(await bodies.report().isComplete(0) && bodies.isOrderly)
    #expect(setting.requests == 0 && setting.place.names == [])
  }

  @Test("Retries, and the pauses before them, are those of every batch")
  func retries() async throws {
    var options = DownloadOptions.limited(to: 3)
    options.retries = 2
    options.backoff = .constant(.zero)
    let times = Watched<[String: Int]>([:])
    let setting = try FaceSetting(options: options) { url in
      let time = times.update { times in
        times[url, default: 0] += 1
        return times[url, default: 0]
      }
      return time < 3 ? .status(500) : .file(url)
    }
    let log = CallbackLog<FileResult>()
    setting.begin(addresses(0..<9), log)
    let report = await log.report()
    #expect(report.successes == 9 && setting.requests == 27)
  }

  @Test("A second batch goes on by the journal where the first was cancelled")
  func journal() async throws {
    let isHeld = Watched(true)
    let setting = try FaceSetting { url in
      if isHeld.value, Int(url.dropFirst(9)) ?? 0 >= 4 {
        try? await Task.sleep(for: .seconds(3600))
      }
      return .file(url)
    }
    let journal = MemoryJournal()
    let first = CallbackLog<FileResult>()
    let control = setting.begin(addresses(0..<10), limit: 1, journal: journal, first)
    await setting.transport.record.wait { $0.urls.count == 5 }
    control.cancel()
    #expect(await first.report().successes == 4)

    isHeld.update { $0 = false }
    let second = CallbackLog<FileResult>()
    setting.begin(addresses(0..<10), limit: 1, journal: journal, second)
    let report = await second.report()
    #expect(try report.get().map(\.file) == (0..<10).map { "\($0)" })
    #expect(report.status.skipped == 4 && report.status.done == 6)
  }
}
