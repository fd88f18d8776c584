// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseDownload

@Suite(.timeLimit(.minutes(2)))
struct DownloadStoppingTests {
  private static let addresses = (0..<200).map { "http://h/\($0)" }

  // MARK: - A journal that cannot be read

  /// A journal whose records cannot be read, and which takes others.
  private struct Unreadable: DownloadJournal {
    let journal = MemoryJournal()
    var salt: UInt64 { journal.salt }

    func records(of keys: [ItemKey]) async throws(JournalError) -> [ItemRecord?] {
      throw JournalError(.damaged, "Damaged")
    }

    func append(_ records: [ItemRecord]) async throws(JournalError) {
      try await journal.append(records)
    }
  }

  @Test("Items whose records cannot be read are left, listed once, and their records stand")
  func unreadableJournal() async throws {
    let journal = Unreadable()
    let fetch = try Fetch(journal: journal) { .file($0) }
    let report = await fetch.run(Self.addresses)
    #expect(report.ending == .journalFailed(JournalError(.damaged, "Damaged")))
    #expect(fetch.transport.record.value.urls.isEmpty)
    #expect(fetch.log.left.value.map(\.address) == Self.addresses)
    #expect(report.status.left == 200 && report.status.read == 200)
    #expect(journal.journal.records.isEmpty)
  }

  // MARK: - Cancelling

  @Test(
    "Cancelling ends what is in flight, starts nothing more, and leaves no file", arguments: [1, 7])
  func cancelInFlight(limit: Int) async throws {
    let never = Gate()
    let fetch = try Fetch(limit: limit, namelessFiles: false) { url in
      try? await never.passUnlessCancelled()
      return .file(url)
    }
    let run = Task { await fetch.run(Self.addresses) }
    await fetch.transport.record.wait { $0.inFlight == limit }
    run.cancel()
    let report = await run.value

    #expect(report.ending == .stopped)
    #expect(report.status.inFlight == 0 && report.status.waiting == 0)
    #expect(report.status.done == 0 && report.status.failed == 0)
    #expect(fetch.transport.record.value.inFlight == 0)
    #expect(fetch.transport.record.value.urls.count == limit)
    #expect(fetch.log.endings == [:], "Cancelled items are left to the next run, without an ending")
    #expect(fetch.folder.names == [])
  }

  @Test("What finished before the run was cancelled is done, and is reported")
  func cancelAfterSome() async throws {
    let never = Gate()
    let fetch = try Fetch(limit: 3) { url in
      if url != "http://h/1" { try? await never.passUnlessCancelled() }
      return .file(url)
    }
    let run = Task { await fetch.run(Self.addresses) }
    await fetch.log.kept.wait { $0.contains { $0.kind.word == "done" } }
    run.cancel()
    let report = await run.value
    #expect(report.status.done == 1)
    #expect(fetch.log.files == ["http://h/1": "1"])
    #expect(fetch.folder.names == ["1"])
  }

  @Test("Cancelling while the source is silent ends the run")
  func cancelSilentSource() async throws {
    let source = FakeSource { _, _ in
      try? await Gate().passUnlessCancelled()
      return nil
    }
    let fetch = try Fetch { .file($0) }
    let run = Task { await fetch.run(source) }
    await source.asked.wait { $0 == 1 }
    run.cancel()
    #expect(await run.value.ending == .stopped)
    #expect(!fetch.downloader.status.isListRead)
  }

  @Test("What a cancelled source says, or throws, is neither begun nor believed")
  func cancelledSourceTalks() async throws {
    for time in 0..<300 {
      let waits = Watched(false)
      let source = FakeSource { _, _ in
        waits.update { $0 = true }
        // It looks again and again, to speak before the run itself hears of the cancellation.
        var looks = 0
        while !Task.isCancelled {
          looks += 1
          if looks.isMultiple(of: 100_000) { await Task.yield() }
        }
        switch time % 3 {
        case 0: return [WorkItem(address: "http://h/half")]
        case 1: return nil
        default: throw CancellationError()
        }
      }
      let fetch = try Fetch { .file($0) }
      let run = Task { await fetch.run(source) }
      await waits.wait { $0 }
      run.cancel()
      #expect(await run.value.ending == .stopped)
      #expect(fetch.transport.record.value.urls == [])
      #expect(source.asked.value == 1)
    }
  }

  @Test(
    "A cancellation between an item's admission and its request is not lost", arguments: [1, 2])
  func cancelWhileStarting(start: Int) async throws {
    let folder = try TemporaryFolder()
    let transport = InterruptedTransport(at: start) { url in
      if start == 2, url.hasSuffix("a") { return .redirect(to: "http://h/b") }
      try? await Gate().passUnlessCancelled()
      return .file("never")
    }
    let downloader = DownloadRun(
      transport: transport, folder: try OutputFolder(path: folder.path),
      options: .limited(to: 1))
    let run = Task {
      await transport.canBegin.pass()
      return await downloader.run(WorkList(addresses: ["http://h/a"]), reportingTo: EventLog())
    }
    transport.cancelRun.update { $0 = { run.cancel() } }
    transport.canBegin.open()
    #expect(await run.value.ending == .stopped)
    #expect(downloader.status.items == 0)
    #expect(transport.inner.record.value.urls.count == start)
  }

  @Test("A run that is cancelled before it begins asks for nothing")
  func cancelBefore() async throws {
    let source = FakeSource { _, _ in [WorkItem(address: "http://h/a")] }
    let fetch = try Fetch { .file($0) }
    let run = Task {
      try? await Gate().passUnlessCancelled()
      return await fetch.run(source)
    }
    run.cancel()
    #expect(await run.value.ending == .stopped)
    #expect(source.asked.value == 0)
    #expect(fetch.transport.record.value.urls == [])
  }

  @Test("Stopping and cancelling after the end changes nothing")
  func cancelAfter() async throws {
    let fetch = try Fetch { .file($0) }
    let run = Task { await fetch.run(["http://h/a"]) }
    let report = await run.value
    run.cancel()
    fetch.downloader.stop()
    #expect(report.ending == .listDone)
    #expect(fetch.downloader.status == report.status)
  }

  @Test("Cancelled at any moment, a run ends, and no item has ended twice")
  func cancelAnywhere() async throws {
    var random = SeededGenerator(seed: 5)
    for _ in 0..<40 {
      let yields = Int.random(in: 0...400, using: &random)
      let answerYields = Int.random(in: 0...6, using: &random)
      let fetch = try Fetch(limit: Int.random(in: 1...9, using: &random)) { url in
        for _ in 0..<answerYields { await Task.yield() }
        return url.hasSuffix("7") ? .redirect(to: url + "0") : .file(url)
      }
      let run = Task { await fetch.run(Self.addresses) }
      for _ in 0..<yields { await Task.yield() }
      run.cancel()
      let report = await run.value

      #expect(fetch.transport.record.value.inFlight == 0)
      #expect(report.status.inFlight == 0 && report.status.waiting == 0)
      #expect(fetch.log.endings.values.allSatisfy { $0.count == 1 })
      #expect(fetch.log.endings.count == report.status.items)
      #expect(fetch.folder.names.count == report.status.done)
      #expect(fetch.log.files.count == report.status.done)
    }
  }

  // MARK: - Stopping

  @Test("After a stop what is in flight finishes, and nothing more is started or read")
  func stopInFlight() async throws {
    let gate = Gate()
    let fetch = try Fetch(limit: 3) { url in
      await gate.pass()
      return .file(url)
    }
    let source = FakeSource { time, count in
      (0..<count).map { WorkItem(address: "http://h/\(time)/\($0)") }
    }
    async let report = fetch.run(source)
    await fetch.transport.record.wait { $0.inFlight == 3 }
    await source.asked.wait { $0 >= 1 }
    while fetch.downloader.status.waiting <= DownloadState.window / 2 { await Task.yield() }
    let asked = source.asked.value
    fetch.downloader.stop()
    fetch.downloader.stop()
    #expect(fetch.downloader.status.waiting == 0)
    gate.open()

    #expect(await report.ending == .stopped)
    #expect(await report.status.done == 3)
    #expect(fetch.transport.record.value.urls.count == 3)
    #expect(source.asked.value == asked)
    #expect(fetch.folder.names.count == 3)
  }

  @Test("A stop ends a run whose source is silent")
  func stopSilentSource() async throws {
    let source = FakeSource { _, _ in
      try? await Gate().passUnlessCancelled()
      return nil
    }
    let fetch = try Fetch { .file($0) }
    async let report = fetch.run(source)
    await source.asked.wait { $0 == 1 }
    fetch.downloader.stop()
    #expect(await report.ending == .stopped)
  }

  @Test("A run that is stopped before it begins reads nothing")
  func stopBefore() async throws {
    let source = FakeSource { _, _ in [WorkItem(address: "http://h/a")] }
    let fetch = try Fetch { .file($0) }
    fetch.downloader.stop()
    #expect(await fetch.run(source).ending == .stopped)
    #expect(source.asked.value == 0)
  }

  @Test("After a stop a run can still be cancelled")
  func stopThenCancel() async throws {
    let never = Gate()
    let fetch = try Fetch { url in
      try? await never.passUnlessCancelled()
      return .file(url)
    }
    let run = Task { await fetch.run(Self.addresses) }
    await fetch.transport.record.wait { $0.inFlight == 3 }
    fetch.downloader.stop()
    run.cancel()
    #expect(await run.value.status.done == 0)
    #expect(fetch.transport.record.value.inFlight == 0)
  }

  // MARK: - A list that cannot be read on

  @Test("A source that fails ends the run in order, says why, and is not asked again")
  func failingSource() async throws {
    struct Broken: Error, CustomStringConvertible { let description = "The disk is gone" }
    let gate = Gate()
    let fetch = try Fetch(limit: 2) { url in
      await gate.pass()
      return .file(url)
    }
    let source = FakeSource { time, _ in
      if time > 1 { throw Broken() }
      return (0..<10).map { WorkItem(address: "http://h/\($0)") }
    }
    async let report = fetch.run(source)
    await source.asked.wait { $0 == 2 }
    await fetch.transport.record.wait { $0.inFlight == 2 }
    while fetch.downloader.status.waiting > 0 { await Task.yield() }
    gate.open()

    #expect(await report.ending == .listUnreadable("The disk is gone"))
    #expect(await report.status.done == 2, "What was in flight is done; the rest is left")
    #expect(source.asked.value == 2)
  }
}

/// Has the run cancelled in the midst of a request, before the transport knows of it.
private struct InterruptedTransport: Transport {
  let inner: FakeTransport
  let start: Int
  let canBegin = Gate()
  let cancelRun = Watched<@Sendable () -> Void>({})

  init(at start: Int, _ answer: @escaping @Sendable (String) async -> FakeTransport.Answer) {
    self.start = start
    inner = FakeTransport(answer)
  }

  func start(_ transfers: [Transfer]) {
    if inner.record.value.urls.count == start - 1 { cancelRun.value() }
    inner.start(transfers)
  }

  func cancel(_ handler: any TransferHandler) { inner.cancel(handler) }
}
