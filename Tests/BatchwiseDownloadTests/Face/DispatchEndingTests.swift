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

/// Batches of Dispatch code that end before everything is done.
@Suite(.timeLimit(.minutes(1)))
struct DispatchEndingTests {
  @Test("Cancelled at any point, each request has its outcome", arguments: 0..<12)
  func cancelled(after count: Int) async throws {
    let setting = try FaceSetting { url in
      if Int(url.dropFirst(9)) ?? 0 >= count { try? await Task.sleep(for: .seconds(3600)) }
      return .file(url)
    }
    let log = CallbackLog<FileResult>()
    let control = setting.begin(addresses(0..<40), log)
    await setting.transport.record.wait { $0.urls.count >= count + 3 }
    control.cancel()
    let report = await log.report()
    #expect(setting.inFlight == 0 && setting.requests == count + 3)
    #expect(report.isComplete(40) && log.isOrderly && report.error is CancellationError)
    #expect(report.outcomes.prefix(count).allSatisfy { (try? $0.get()) != nil })
    #expect(report.reasons == [.cancelled: 40 - count])
    #expect(report.failures.allSatisfy { $0.url?.hasPrefix("http://h/") == true })
    #expect(setting.place.files.count == count)
  }

  @Test("Cancelled at any point, bodies that are there stay", arguments: 0..<6)
  func cancelledBodies(after count: Int) async throws {
    let setting = try FaceSetting { url in
      if Int(url.dropFirst(9)) ?? 0 >= count { try? await Task.sleep(for: .seconds(3600)) }
      return .file(url)
    }
    let log = CallbackLog<DownloadedBody>()
    let control = setting.begin(addresses(0..<40), atMost: 1000, log)
    await setting.transport.record.wait { $0.urls.count >= count + 3 }
    control.cancel()
    control.cancel()
    let report = await log.report()
    #expect(setting.inFlight == 0 && setting.requests == count + 3)
    #expect(report.isComplete(40) && log.isOrderly && report.error is CancellationError)
    #expect(report.successes == count && report.reasons == [.cancelled: 40 - count])
  }

  @Test("Requests that wait for an equal one are cancelled with it", arguments: [false, true])
  func cancelledDuplicates(inMemory: Bool) async throws {
    let setting = try FaceSetting { url in
      if url == "http://h/a" { try? await Task.sleep(for: .seconds(3600)) }
      return .file(url)
    }
    let urls = ["http://h/a", "http://h/b", "http://h/a", "http://h/b", "http://h/a"]
    let (files, bodies) = (CallbackLog<FileResult>(), CallbackLog<DownloadedBody>())
    let control = DownloadControl()
    if inMemory {
      setting.begin(urls, atMost: 1000, control: control, bodies)
    } else {
      setting.begin(urls, control: control, files)
    }
    for await status in control.statusUpdates where status.isListRead && status.done == 1 { break }
    control.cancel()
    let wasDone: [Bool]
    if inMemory {
      wasDone = await bodies.report().outcomes.map { $0.result.failure == nil }
    } else {
      wasDone = await files.report().outcomes.map { $0.result.failure == nil }
    }
    #expect(wasDone == [false, true, false, true, false])
    #expect(setting.requests == 2)
  }

  @Test("A limit that lets nothing ever start traps where the call is made")
  func noLimit() async throws {
    await #expect(processExitsWith: .failure) {
      let setting = try FaceSetting { .file($0) }
      setting.begin(["http://h/a"], limit: 0, CallbackLog<FileResult>())
    }
  }

  @Test("Cancelled before it begins, or just after, it asks for little or nothing")
  func cancelledEarly() async throws {
    let setting = try FaceSetting { .file($0) }
    let control = DownloadControl()
    control.cancel()
    let log = CallbackLog<FileResult>()
    setting.begin(addresses(0..<40), control: control, log)
    let report = await log.report()
    #expect(report.isComplete(40) && report.reasons == [.cancelled: 40])
    #expect(report.error is CancellationError && setting.requests == 0)
    #expect(setting.place.names == [])

    for _ in 0..<100 {
      let log = CallbackLog<FileResult>()
      setting.begin(addresses(0..<40), log).cancel()
      let report = await log.report()
      #expect(report.isComplete(40) && log.isOrderly)
      #expect((report.error == nil) == (report.reasons[.cancelled] == nil))
    }
  }

  @Test("Cancelled after the end, it stays as it was")
  func cancelledLate() async throws {
    let setting = try FaceSetting { .file($0) }
    let log = CallbackLog<FileResult>()
    let control = setting.begin(addresses(0..<5), log)
    _ = await log.report()
    control.cancel()
    #expect(await log.report().successes == 5 && log.isOrderly)
    #expect(control.status?.done == 5)
  }

  @Test("A limit of zero holds everything back, and cancelling ends it all the same")
  func closedGate() async throws {
    let setting = try FaceSetting { .file($0) }
    for isEarly in [true, false] {
      let control = DownloadControl()
      if isEarly { control.setLimit(0) } else { control.pause() }
      let log = CallbackLog<FileResult>()
      setting.begin(addresses(0..<40), control: control, log)
      for await status in control.statusUpdates where status.waiting == 40 { break }
      control.setLimit(0)
      if !isEarly { control.resume() }
      #expect(log.calls.value.reports.isEmpty && setting.requests == 0)
      control.cancel()
      let report = await log.report()
      #expect(report.isComplete(40) && report.reasons == [.cancelled: 40] && log.isOrderly)
    }
  }

  @Test("A request that pauses before its next attempt is cancelled with the others")
  func pausing() async throws {
    var options = DownloadOptions.limited(to: 3)
    options.retries = 1
    options.backoff = .constant(.seconds(3600))
    let setting = try FaceSetting(options: options) { _ in .status(500) }
    let log = CallbackLog<FileResult>()
    let control = setting.begin(addresses(0..<5), log)
    for await status in control.statusUpdates
    where status.waiting == 5 && status.inFlight == 0 && setting.requests == 5 { break }
    control.cancel()
    let report = await log.report()
    #expect(report.isComplete(5) && report.reasons == [.cancelled: 5] && setting.requests == 5)
  }

  @Test("A stopped batch lets what is in flight end, and says that the rest was left")
  func stopped() async throws {
    let gate = Gate()
    let setting = try FaceSetting { url in
      await gate.pass()
      return .file(url)
    }
    let log = CallbackLog<FileResult>()
    let control = setting.begin(addresses(0..<40), log)
    await setting.transport.record.wait { $0.inFlight == 3 }
    control.stop()
    gate.open()
    let report = await log.report()
    #expect(report.successes == 3 && report.reasons == [.cancelled: 37])
    #expect(report.error is CancellationError && report.isComplete(40))
  }

  @Test("What is cancelled with nothing left to do has not ended early")
  func cancelledWithTheLast() async throws {
    let gate = Gate()
    let setting = try FaceSetting { url in
      await gate.pass()
      return .file(url)
    }
    let log = CallbackLog<FileResult>()
    let control = setting.begin(addresses(0..<3), log)
    await setting.transport.record.wait { $0.inFlight == 3 }
    // An orderly stop cannot come to the list's end any more, but everything that is on it is done.
    control.stop()
    gate.open()
    let report = await log.report()
    #expect(report.successes == 3 && report.error == nil)
  }

  @Test("A folder that is gone is everybody's failure, and the report's error")
  func unusableFolder() async throws {
    let setting = try FaceSetting { .file($0) }
    let first = CallbackLog<FileResult>()
    setting.begin(["http://h/a"], first)
    #expect(await first.report().successes == 1)
    try FileManager.default.removeItem(atPath: setting.place.path)

    let log = CallbackLog<FileResult>()
    let control = setting.begin(["http://u:p@h/b", "http://h/c"], log)
    let report = await log.report()
    #expect(report.isComplete(2) && report.error is OutputFolderError && log.isOrderly)
    #expect(report.reasons == [.disk: 2] && report.failures.map(\.url).first == "http://h/b")
    #expect(setting.requests == 1 && report.status.limit == 3)
    for await _ in control.statusUpdates {}
  }

  @Test("A journal that cannot be written ends the batch, and what it did not come to is told so")
  func brokenJournal() async throws {
    let setting = try FaceSetting { .file($0) }
    for (kind, reason) in [
      (JournalError.Kind.diskFull, DownloadFailure.Reason.disk),
      (.failed, .cancelled),
    ] {
      let journal = MemoryJournal()
      journal.onAppend { _ in JournalError(kind, "It broke") }
      let log = CallbackLog<FileResult>()
      setting.begin(addresses(0..<20), journal: journal, log)
      let report = await log.report()
      #expect((report.error as? JournalError)?.kind == kind)
      #expect(report.isComplete(20) && report.reasons == [reason: 20] && log.isOrderly)
    }
  }

  @Test(
    "A full disk ends the batch, and the rest has failed for it", .enabled(if: SmallDisk.isAllowed))
  func fullDisk() async throws {
    let parent = try TemporaryFolder()
    await #expect(processExitsWith: .success) { [path = parent.path as String] in
      try #require(SmallDisk.lay(onto: path, bytes: 1_000_000))
      let folder = try OutputFolder(path: path)
      let transport = FakeTransport { _ in
        .body(
          ResponseHead(status: 200, framing: .length(60_000)), Array(repeating: 1, count: 60_000))
      }
      let log = CallbackLog<FileResult>()
      BatchDownloader(transport: transport, options: .limited(to: 3)).downloadAll(
        addresses(0..<100), to: folder, queue: log.queue, progress: log.progress,
        completion: log.completion)
      let report = await log.report()
      #expect((report.error as? DownloadFailure)?.reason == .disk)
      #expect(report.isComplete(100) && log.isOrderly)
      #expect(report.successes == report.status.done && report.status.done > 0)
      #expect(report.reasons == [.disk: 100 - report.successes])
      #expect(transport.record.value.inFlight == 0)
    }
  }

  @Test("Cancelled at random moments, there is one report with every outcome", arguments: 0..<60)
  func random(seed: UInt64) async throws {
    var generator = SeededGenerator(seed: seed)
    let setting = try FaceSetting { url in
      for _ in 0..<(url.utf8.last.map { Int($0) % 5 } ?? 0) { await Task.yield() }
      return url.hasSuffix("3") ? .status(404) : .file(url)
    }
    let log = CallbackLog<DownloadedBody>()
    let control = setting.begin(addresses(0..<60), atMost: 10_000, log)
    for _ in 0..<Int.random(in: 0..<400, using: &generator) { await Task.yield() }
    control.cancel()
    let report = await log.report()
    #expect(report.isComplete(60) && log.isOrderly && setting.inFlight == 0)
    let left = report.reasons[.cancelled] ?? 0
    #expect((report.error != nil) == (left > 0))
    #expect(report.successes + left + (report.reasons[.status] ?? 0) == 60)
  }
}
