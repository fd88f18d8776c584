// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseDownload

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite(.timeLimit(.minutes(1)))
struct FileBatchTests {
  @Test("Results come in the order of the list, whatever the order in which they were finished")
  func order() async throws {
    let first = Gate()
    let setting = try FaceSetting { url in
      // The first one ends last.
      if url == "http://h/0" { await first.pass() }
      if url == "http://h/49" { first.open() }
      return .file(url)
    }
    let urls = addresses(0..<50)
    let files = try await setting.downloader.downloadAll(urls, to: setting.folder, limit: 3)
    #expect(files.map(\.file) == (0..<50).map { "\($0)" })
    for (number, file) in files.enumerated() {
      guard case .done(let file) = file else {
        Issue.record("\(file) is not done")
        continue
      }
      #expect(file.bytes == urls[number].utf8.count && file.status == 200 && file.attempts == 1)
      #expect(setting.place["\(number)"] == Array(urls[number].utf8))
    }
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
    let control = DownloadControl()
    _ = try await setting.downloader.downloadAll(
      addresses(0..<64), to: setting.folder, limit: limit, control: control)
    #expect(setting.transport.record.value.peak == limit)
    #expect(control.status?.peakInFlight == limit && control.status?.limit == limit)
  }

  @Test("An empty list brings an empty array, without a request and without a folder of its own")
  func empty() async throws {
    let setting = try FaceSetting { .file($0) }
    #expect(try await setting.downloader.downloadAll([String](), to: setting.folder) == [])
    #expect(
      try await setting.downloader.downloadAll(
        AsyncStream<String> { $0.finish() }, to: setting.folder) == [])
    #expect(setting.requests == 0 && setting.place.names == [])
  }

  @Test("Equal requests are one transfer, and every place has its result")
  func duplicates() async throws {
    let setting = try FaceSetting { .file($0) }
    let urls = [
      "http://h/a", "http://h/a", "http://h/b", "HTTP://h/a#x", "http://h/b", "http://h/a",
    ]
    let files = try await setting.downloader.downloadAll(urls, to: setting.folder, limit: 1)
    #expect(files.map(\.file) == ["a", "a", "b", "a", "b", "a"])
    #expect(files[1] == files[0] && files[3] == files[0] && files[4] == files[2])
    #expect(setting.transport.record.value.urls == ["http://h/a", "http://h/b"])
    #expect(setting.place.files == ["a", "b"])
  }

  @Test("Requests with other headers or names are other transfers, to the files that they name")
  func requests() async throws {
    let setting = try FaceSetting { .file($0) }
    let headers = try [#require(HeaderField("Accept: image/png"))]
    let files = try await setting.downloader.downloadAll(
      [
        DownloadRequest("http://h/a"), DownloadRequest("http://h/a", name: "deep/b"),
        DownloadRequest("http://h/a", name: "c", headers: headers),
      ], to: setting.folder)
    #expect(files.map(\.file) == ["a", "deep/b", "c"])
    #expect(setting.requests == 3)
  }

  @Test("Addresses may be Foundation's, and items of a list fail by their flaws")
  func convertible() async throws {
    let setting = try FaceSetting { .file($0) }
    let url = try #require(URL(string: "http://h/a?b=c"))
    #expect(
      try await setting.downloader.downloadAll([url], to: setting.folder).map(\.file) == ["a"])

    let flaw = DownloadFailure(.size, "The field size is no number of bytes")
    let item = WorkItem(line: 7, address: "http://u:p@h/x", flaw: flaw)
    let log = EventLog()
    let thrown = await failure {
      try await setting.downloader.downloadAll(
        [item], to: setting.folder, control: DownloadControl(reportingTo: log))
    }
    #expect((thrown as? DownloadFailure)?.reason == .size)
    #expect((thrown as? DownloadFailure)?.url == "h/x")
    #expect(log.events.map(\.line) == [7])
  }

  @Test("The first failure in time cancels the rest, awaits it, and names its address")
  func failFast() async throws {
    let cancelled = Watched(0)
    let setting = try FaceSetting { url in
      if url == "http://u:p@h/2" { return .status(404) }
      try? await Task.sleep(for: .seconds(3600))
      cancelled.update { $0 += 1 }
      return .file(url)
    }
    let urls = ["http://h/0", "http://h/1", "http://u:p@h/2"] + addresses(3..<100)
    let thrown = await failure {
      try await setting.downloader.downloadAll(urls, to: setting.folder, limit: 3)
    }
    let error = try #require(thrown as? DownloadFailure)
    #expect(error.reason == .status && error.status == 404)
    #expect(error.url == "http://h/2")
    #expect(error.description.hasPrefix("http://h/2: status: "))
    #expect(setting.inFlight == 0, "All is over when the call ends")
    #expect(cancelled.value == setting.requests - 1)
    #expect(setting.requests < 6, "Little was begun after the failure")
    #expect(setting.place.files == [])
  }

  @Test("A failure leaves what is done, and a second call with the journal does only the rest")
  func goesOn() async throws {
    let isWell = Watched(false)
    let setting = try FaceSetting { url in
      url.hasSuffix("5") && !isWell.value ? .status(500) : .file(url)
    }
    let journal = MemoryJournal()
    let urls = addresses(0..<10)
    let thrown = await failure {
      try await setting.downloader.downloadAll(
        urls, to: setting.folder, limit: 1, journal: journal)
    }
    #expect((thrown as? DownloadFailure)?.url == "http://h/5")
    let done = setting.place.files.count
    #expect(done >= 5)

    isWell.update { $0 = true }
    let before = setting.requests
    var options = DownloadOptions.limited(to: 1)
    options.recorded.retriesFailed = true
    let files = try await BatchDownloader(transport: setting.transport, options: options)
      .downloadAll(urls, to: OutputFolder(path: setting.place.path), journal: journal)
    #expect(files.map(\.file) == (0..<10).map { "\($0)" })
    #expect(
      files.prefix(5).allSatisfy { if case .skipped(.alreadyDone, _) = $0 { true } else { false } })
    #expect(setting.requests - before == 10 - done)
  }

  @Test("A second call for the same folder finds its files unchanged, and their names with it")
  func twice() async throws {
    let setting = try FaceSetting { .file($0) }
    let urls = ["http://h/a", "http://h/x/a", "http://h/b"]
    let first = try await setting.downloader.downloadAll(urls, to: setting.folder)
    let second = try await setting.downloader.downloadAll(urls, to: setting.folder)
    #expect(second.map(\.file) == first.map(\.file))
    #expect(second == first.map { .skipped(.unchanged, file: $0.file) })
    #expect(setting.place.files.count == 3)
  }

  @Test("A list in a file is downloaded as it is read")
  func list() async throws {
    let setting = try FaceSetting { .file($0) }
    try setting.place.write(Array("http://h/a\n# b\nhttp://h/c\n".utf8), to: "list")
    let list = open(setting.place.path + "/list", O_RDONLY)
    let reader = URLListReader(descriptor: list, closesDescriptor: true)
    #expect(
      try await setting.downloader.downloadAll(reader, to: setting.folder).map(\.file) == [
        "a", "c",
      ])
  }

  @Test("A failure in an earlier attempt is none, if a later one succeeds")
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
    let files = try await setting.downloader.downloadAll(addresses(0..<9), to: setting.folder)
    #expect(files.allSatisfy { if case .done(let file) = $0 { file.attempts == 3 } else { false } })
  }

  @Test("A list that grows is downloaded as it grows, and may fail")
  func growing() async throws {
    let setting = try FaceSetting { .file($0) }
    let (list, more) = AsyncThrowingStream<String, any Error>.makeStream()
    more.yield("http://h/0")
    async let files = setting.downloader.downloadAll(list, to: setting.folder)
    await setting.transport.record.wait { $0.urls.count == 1 && $0.inFlight == 0 }
    more.yield("http://h/1")
    await setting.transport.record.wait { $0.urls.count == 2 }
    more.finish()
    #expect(try await files.map(\.file) == ["0", "1"])

    struct Broken: Error {}
    let held = try FaceSetting { url in
      try? await Task.sleep(for: .seconds(3600))
      return .file(url)
    }
    let (broken, last) = AsyncThrowingStream<String, any Error>.makeStream()
    last.yield("http://h/0")
    async let thrown = failure { try await held.downloader.downloadAll(broken, to: held.folder) }
    await held.transport.record.wait { $0.inFlight == 1 }
    last.finish(throwing: Broken())
    #expect(await thrown is Broken)
    #expect(held.inFlight == 0, "What was in flight was cancelled and awaited")
  }

  @Test("A caller that is cancelled already begins nothing")
  func alreadyCancelled() async throws {
    let setting = try FaceSetting { .file($0) }
    let control = DownloadControl()
    let gate = Gate()
    let task = Task {
      await gate.pass()
      return try await setting.downloader.downloadAll(
        addresses(0..<10), to: setting.folder, control: control)
    }
    task.cancel()
    gate.open()
    #expect(await failure { try await task.value } is CancellationError)
    #expect(setting.requests == 0 && setting.place.files == [])
    var updates = control.statusUpdates.makeAsyncIterator()
    while await updates.next() != nil {}
  }

  @Test("Cancelled at any point, the call ends when nothing of it is in flight", arguments: 0..<12)
  func cancelled(after count: Int) async throws {
    let setting = try FaceSetting { url in
      if Int(url.dropFirst(9)) ?? 0 >= count { try? await Task.sleep(for: .seconds(3600)) }
      return .file(url)
    }
    let task = Task {
      try await setting.downloader.downloadAll(addresses(0..<40), to: setting.folder, limit: 3)
    }
    await setting.transport.record.wait { $0.urls.count >= count + 3 }
    task.cancel()
    #expect(await failure { try await task.value } is CancellationError)
    #expect(setting.inFlight == 0)
    #expect(setting.requests == count + 3)
    #expect(setting.place.files.count == count)
  }

  @Test("A stopped batch lets what is in flight end, and is not taken for a whole one")
  func stopped() async throws {
    let gate = Gate()
    let setting = try FaceSetting { url in
      await gate.pass()
      return .file(url)
    }
    let control = DownloadControl()
    async let thrown = failure {
      try await setting.downloader.downloadAll(
        addresses(0..<40), to: setting.folder, limit: 3, control: control)
    }
    await setting.transport.record.wait { $0.inFlight == 3 }
    control.stop()
    gate.open()
    #expect(await thrown is CancellationError)
    #expect(setting.place.files == ["0", "1", "2"])
  }
}
