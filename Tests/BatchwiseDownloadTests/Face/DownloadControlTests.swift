// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseDownload

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
}
