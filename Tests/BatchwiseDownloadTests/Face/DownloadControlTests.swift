// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseDownload

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite(.timeLimit(.minutes(1)))
struct DownloadControlTests {
  @Test("A reader of the status sees it change, and the last of it, and comes to its end")
  func updates() async throws {
    let setting = try FaceSetting { .file($0) }
    let control = DownloadControl()
    #expect(control.status == nil)
    async let files = setting.downloader.downloadAll(
      addresses(0..<200), to: setting.folder, limit: 3, control: control)
    var seen: [DownloadStatus] = []
    for await status in control.statusUpdates { seen.append(status) }
    #expect(try await files.count == 200)
    #expect(seen.last == control.status)
    #expect(seen.last?.done == 200 && seen.last?.isListRead == true)
    #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 != $1 && $0.done <= $1.done })
    // One that comes too late gets the last one.
    var late: [DownloadStatus] = []
    for await status in control.statusUpdates { late.append(status) }
    #expect(late == [seen.last])
  }

  @Test("A slow reader misses what came in between")
  func slow() async throws {
    let setting = try FaceSetting { .file($0) }
    let control = DownloadControl()
    var updates = control.statusUpdates.makeAsyncIterator()
    async let files = setting.downloader.downloadAll(
      addresses(0..<500), to: setting.folder, limit: 3, control: control)
    let first = await updates.next()
    #expect(try await files.count == 500)
    let second = await updates.next()
    #expect(first != nil && second?.done == 500)
    #expect(await updates.next() == nil)
  }

  @Test("A reader of the status that is cancelled comes to its end")
  func cancelled() async {
    let control = DownloadControl()
    let task = Task {
      for await _ in control.statusUpdates {}
      return true
    }
    task.cancel()
    #expect(await task.value)
  }

  @Test("What is wished for before the batch begins holds from its beginning")
  func wishes() async throws {
    let setting = try FaceSetting(options: .limited(to: 8)) { .file($0) }
    let control = DownloadControl()
    control.pause()
    control.setLimit(2)
    async let files = setting.downloader.downloadAll(
      addresses(0..<20), to: setting.folder, control: control)
    for await status in control.statusUpdates where status.waiting == 20 { break }
    #expect(setting.requests == 0)
    #expect(control.status?.isPaused == true && control.status?.limit == 2)
    control.resume()
    #expect(try await files.count == 20)
    #expect(setting.transport.record.value.peak == 2)
  }

  @Test("The events of a batch reach its sink before its call returns")
  func events() async throws {
    let setting = try FaceSetting { .file($0) }
    let log = EventLog()
    let control = DownloadControl(reportingTo: log)
    _ = try await setting.downloader.downloadAll(
      addresses(0..<20), to: setting.folder, control: control)
    #expect(log.endings.count == 20 && log.endings.values.allSatisfy { $0.count == 1 })
    #expect(log.startedURLs == addresses(0..<20))
  }

  @Test("The slowest transfers are those in flight")
  func slowest() async throws {
    let gate = Gate()
    let setting = try FaceSetting { url in
      await gate.pass()
      return .file(url)
    }
    let control = DownloadControl()
    async let bodies = setting.downloader.downloadAll(
      addresses(0..<3), atMost: 100, control: control)
    await setting.transport.record.wait { $0.inFlight == 3 }
    #expect(Set(control.slowestTransfers(atMost: 9).map(\.url)) == Set(addresses(0..<3)))
    gate.open()
    #expect(try await bodies.count == 3)
    #expect(control.slowestTransfers(atMost: 9).isEmpty)
  }

  @Test(
    "Cancelling ends an array's call when nothing of it is in flight", arguments: [false, true])
  func cancelsArray(inMemory: Bool) async throws {
    let setting = try FaceSetting { url in
      if url != "http://h/0" { try? await Task.sleep(for: .seconds(3600)) }
      return .file(url)
    }
    let control = DownloadControl()
    async let thrown = failure {
      if inMemory {
        _ = try await setting.downloader.downloadAll(
          addresses(0..<40), atMost: 1000, control: control)
      } else {
        _ = try await setting.downloader.downloadAll(
          addresses(0..<40), to: setting.folder, control: control)
      }
    }
    await setting.transport.record.wait { $0.urls.count == 4 }
    control.cancel()
    #expect(await thrown is CancellationError)
    #expect(setting.inFlight == 0 && setting.requests == 4)
    #expect(control.status?.inFlight == 0)
  }

  @Test("Cancelling ends a stream with an error, after the outcomes that are there")
  func cancelsStream() async throws {
    let setting = try FaceSetting { url in
      if url != "http://h/0" { try? await Task.sleep(for: .seconds(3600)) }
      return .file(url)
    }
    let control = DownloadControl()
    var outcomes = setting.downloader
      .outcomes(of: addresses(0..<40), limit: 3, atMost: 1000, control: control)
      .makeAsyncIterator()
    #expect(try await outcomes.next()?.offset == 0)
    control.cancel()
    do {
      #expect(try await outcomes.next() == nil)
      Issue.record("A stream that was cancelled throws")
    } catch {
      #expect(error is CancellationError && setting.inFlight == 0)
    }
    #expect(try await outcomes.next() == nil)
  }

  @Test(
    "Cancelling a stream ends it also while it waits for its reader, or for a list that is silent")
  func cancelsWaitingStream() async throws {
    let setting = try FaceSetting { .file($0) }
    let control = DownloadControl()
    var outcomes = setting.downloader
      .outcomes(of: addresses(0..<40), to: setting.folder, readAhead: 0, control: control)
      .makeAsyncIterator()
    _ = try await outcomes.next()
    await setting.transport.record.wait { $0.urls.count == 4 && $0.inFlight == 0 }
    control.cancel()
    do {
      while try await outcomes.next() != nil {}
      Issue.record("A stream that was cancelled throws")
    } catch {
      #expect(error is CancellationError && setting.requests == 4)
    }

    let silence = AsyncStream<String> { $0.yield("http://h/a") }
    let second = DownloadControl()
    async let thrown = failure {
      try await setting.downloader.downloadAll(silence, to: setting.folder, control: second)
    }
    for await status in second.statusUpdates where status.done + status.skipped == 1 { break }
    second.cancel()
    #expect(await thrown is CancellationError)
  }

  @Test("Cancelled before the batch begins, nothing of it starts")
  func cancelsEarly() async throws {
    let setting = try FaceSetting { .file($0) }
    let control = DownloadControl()
    control.cancel()
    #expect(
      await failure {
        try await setting.downloader.downloadAll(
          addresses(0..<40), to: setting.folder, control: control)
      } is CancellationError)
    #expect(setting.requests == 0 && setting.place.files == [])
    control.cancel()
    for await _ in control.statusUpdates {}
  }

  @Test("A failure that came first is thrown, though the batch is cancelled then")
  func failureFirst() async throws {
    let failed = Gate()
    let setting = try FaceSetting { url in
      if url == "http://h/0" { return .status(404) }
      await failed.pass()
      return .file(url)
    }
    let control = DownloadControl()
    async let thrown = failure {
      try await setting.downloader.downloadAll(
        addresses(0..<3), to: setting.folder, control: control)
    }
    for await status in control.statusUpdates where status.failed == 1 { break }
    control.cancel()
    failed.open()
    #expect((await thrown as? DownloadFailure)?.status == 404)
  }

  // The status of a batch that could not begin never came to its end, and its readers waited for ever.
  @Test("A reader of the status comes to its end when the folder cannot be used any more")
  func unusableFolder() async throws {
    let setting = try FaceSetting { .file($0) }
    _ = try await setting.downloader.downloadAll(["http://h/a"], to: setting.folder)
    try FileManager.default.removeItem(atPath: setting.place.path)
    let (array, stream) = (DownloadControl(), DownloadControl())
    let thrown = await failure {
      try await setting.downloader.downloadAll(["http://h/b"], to: setting.folder, control: array)
    }
    #expect(thrown is OutputFolderError)
    for await _ in array.statusUpdates {}
    var outcomes = setting.downloader
      .outcomes(of: ["http://h/b"], to: setting.folder, control: stream).makeAsyncIterator()
    do {
      #expect(try await outcomes.next() == nil)
      Issue.record("The folder is gone")
    } catch {
      #expect(error is OutputFolderError)
    }
    for await _ in stream.statusUpdates {}
  }
}
