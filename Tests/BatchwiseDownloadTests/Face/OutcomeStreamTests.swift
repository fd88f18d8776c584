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
struct OutcomeStreamTests {
  @Test("In source order a slow first request holds back the outcomes behind it, not the requests")
  func sourceOrder() async throws {
    let first = Gate()
    let setting = try FaceSetting { url in
      if url == "http://h/0" { await first.pass() }
      if url == "http://h/49" { first.open() }
      return url.hasSuffix("7") ? .status(404) : .file(url)
    }
    var offsets: [Int] = []
    for try await outcome in setting.downloader.outcomes(
      of: addresses(0..<50), to: setting.folder, limit: 3)
    {
      offsets.append(outcome.offset)
      #expect(outcome.request.url == "http://h/\(outcome.offset)")
      if outcome.offset % 10 == 7 {
        #expect(outcome.result.failure?.status == 404)
        #expect(outcome.result.failure?.url == outcome.request.url)
      } else {
        #expect(try outcome.get().file == "\(outcome.offset)")
      }
    }
    #expect(offsets == Array(0..<50))
    #expect(setting.place.files.count == 45)
  }

  @Test("In completion order an outcome can be read as soon as it is there")
  func completionOrder() async throws {
    let first = Gate()
    let setting = try FaceSetting { url in
      if url == "http://h/0" { await first.pass() }
      return .file(url)
    }
    var offsets: [Int] = []
    for try await outcome in setting.downloader.outcomes(
      of: addresses(0..<50), to: setting.folder, limit: 3, order: .completion)
    {
      offsets.append(outcome.offset)
      if offsets.count == 49 { first.open() }
    }
    #expect(offsets.last == 0)
    #expect(offsets.sorted() == Array(0..<50))
  }

  @Test(
    "A reader that does not read stops the starts and the reading of the list",
    arguments: [OutcomeOrder.source, .completion])
  func backpressure(order: OutcomeOrder) async throws {
    let setting = try FaceSetting { .file($0) }
    let taken = Watched(0)
    let list = CountedList(count: 100, taken: taken)
    var outcomes = setting.downloader
      .outcomes(of: list, to: setting.folder, limit: 3, order: order, readAhead: 4)
      .makeAsyncIterator()
    for read in 1...100 {
      #expect(try await outcomes.next() != nil)
      // As many as may be held, and the one that was read.
      let held = min(100, 7 + read)
      await setting.transport.record.wait { $0.urls.count >= held && $0.inFlight == 0 }
      #expect(setting.requests == held)
      #expect(taken.value == held)
    }
    #expect(try await outcomes.next() == nil)
    #expect(try await outcomes.next() == nil)
  }

  @Test("Bodies hold no more than the bound, and each comes once, whatever their lengths")
  func bound() async throws {
    let setting = try FaceSetting { url in
      let number = Int(url.dropFirst(9)) ?? 0
      let body = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number * 37 % 101)
      let isAnnounced = number % 3 > 0
      return .pieces(
        ResponseHead(
          status: 200, framing: isAnnounced ? .length(Int64(body.count)) : .chunked),
        stride(from: 0, to: body.count, by: 10).map { Array(body[$0..<min($0 + 10, body.count)]) })
    }
    var seen: [Int: Data] = [:]
    for try await outcome in setting.downloader.outcomes(
      of: addresses(0..<300), limit: 5, atMost: 100)
    {
      seen[outcome.offset] = try outcome.get().data
    }
    #expect(seen.count == 300)
    for (number, data) in seen {
      #expect(
        data == Data(repeating: UInt8(truncatingIfNeeded: number), count: number * 37 % 101))
    }
  }

  @Test("A body that finds no room waits until another was read; one over the bound fails")
  func room() async throws {
    let setting = try FaceSetting { url in
      url.hasSuffix("9") ? .file(String(repeating: "x", count: 101)) : .file("1234567890")
    }
    // Room for two and a half.
    var outcomes = setting.downloader.outcomes(of: addresses(0..<10), limit: 1, atMost: 25)
      .makeAsyncIterator()
    #expect(try await outcomes.next()?.get().data.count == 10)
    // Two are held, and the third has been asked for and given up, or was not asked for.
    await setting.transport.record.wait { $0.urls.count >= 3 && $0.inFlight == 0 }
    #expect(Set(setting.transport.record.value.urls).count <= 4)
    for _ in 1..<9 { #expect(try await outcomes.next()?.get().data.count == 10) }
    #expect(try await outcomes.next()?.result.failure?.reason == .tooLarge)
    #expect(try await outcomes.next() == nil)
  }

  @Test("A known size is waited for before the request is sent")
  func knownSize() async throws {
    let setting = try FaceSetting { _ in .file("1234567890") }
    let requests = addresses(0..<5).map { DownloadRequest($0, size: 10) }
    var outcomes = setting.downloader.outcomes(of: requests, limit: 3, atMost: 20)
      .makeAsyncIterator()
    for read in 1...5 {
      #expect(try await outcomes.next() != nil)
      let sent = min(5, read + 2)
      await setting.transport.record.wait { $0.urls.count >= sent && $0.inFlight == 0 }
      #expect(setting.requests == sent)
    }
    #expect(setting.requests == 5, "None was asked for twice")
  }

  @Test("Equal requests have equal outcomes: files for as long as is remembered, bodies in flight")
  func duplicates() async throws {
    let gate = Gate()
    let setting = try FaceSetting { url in
      await gate.pass()
      return .file(url)
    }
    let urls = ["http://h/a", "http://h/b", "http://h/a", "http://h/a"]
    var files = setting.downloader.outcomes(of: urls, to: setting.folder).makeAsyncIterator()
    async let opening: Void = setting.transport.record.wait { $0.inFlight == 2 }
    Task {
      await setting.transport.record.wait { $0.inFlight == 2 }
      gate.open()
    }
    var names: [String?] = []
    while let outcome = try await files.next() { names.append(try outcome.get().file) }
    await opening
    #expect(names == ["a", "b", "a", "a"])
    #expect(setting.requests == 2)

    var bodies: [Int: Data] = [:]
    for try await outcome in setting.downloader.outcomes(of: urls, limit: 2, atMost: 1000) {
      bodies[outcome.offset] = try outcome.get().data
    }
    #expect(bodies.count == 4 && bodies[0] == bodies[2] && bodies[0] == bodies[3])
    #expect((4...6).contains(setting.requests))
  }

  @Test("A reader that is cancelled gets an error, and nothing is left in flight", arguments: 0..<6)
  func cancelled(after count: Int) async throws {
    let setting = try FaceSetting { url in
      if Int(url.dropFirst(9)) ?? 0 >= count { try? await Task.sleep(for: .seconds(3600)) }
      return .file(url)
    }
    let read = Watched(0)
    let task = Task {
      for try await _ in setting.downloader.outcomes(of: addresses(0..<40), to: setting.folder) {
        read.update { $0 += 1 }
      }
    }
    await read.wait { $0 == count }
    await setting.transport.record.wait { $0.urls.count == count + 3 }
    task.cancel()
    #expect(await failure { try await task.value } is CancellationError)
    #expect(setting.inFlight == 0)
    #expect(setting.requests == count + 3)
  }

  @Test("A reader that is cancelled while a body waits for room is not kept waiting")
  func cancelledWaiting() async throws {
    let setting = try FaceSetting { _ in .file("1234567890") }
    let task = Task {
      var outcomes = setting.downloader
        .outcomes(of: addresses(0..<5).map { DownloadRequest($0, size: 10) }, atMost: 10)
        .makeAsyncIterator()
      _ = try await outcomes.next()
      await Gate().passQuietly()
      _ = try await outcomes.next()
    }
    await setting.transport.record.wait { $0.urls.count == 2 && $0.inFlight == 0 }
    task.cancel()
    #expect(await failure { try await task.value } is CancellationError)
    #expect(setting.requests == 2)
  }

  @Test("A reader that breaks off cancels what is in flight")
  func broken() async throws {
    let setting = try FaceSetting { url in
      if url != "http://h/0" { try? await Task.sleep(for: .seconds(3600)) }
      return .file(url)
    }
    for try await outcome in setting.downloader.outcomes(of: addresses(0..<9), to: setting.folder) {
      #expect(outcome.offset == 0)
      break
    }
    await setting.transport.record.wait { $0.inFlight == 0 }
  }

  @Test("A list that fails ends the stream after the outcomes of what was in flight")
  func brokenList() async throws {
    struct Broken: Error {}
    let gate = Gate()
    let setting = try FaceSetting { url in
      await gate.pass()
      return .file(url)
    }
    let (list, last) = AsyncThrowingStream<String, any Error>.makeStream()
    last.yield("http://h/0")
    last.yield("http://h/1")
    var outcomes = setting.downloader.outcomes(of: list, to: setting.folder).makeAsyncIterator()
    Task {
      await setting.transport.record.wait { $0.inFlight == 2 }
      last.finish(throwing: Broken())
      gate.open()
    }
    #expect(try await outcomes.next()?.offset == 0)
    #expect(try await outcomes.next()?.offset == 1)
    do {
      #expect(try await outcomes.next() == nil)
      Issue.record("The list's error is thrown")
    } catch {
      #expect(error is Broken)
    }
    #expect(try await outcomes.next() == nil)
  }

  @Test(
    "A journal that cannot be written ends the stream with its error, also with the last request",
    arguments: [1, 9, 100])
  func brokenJournal(count: Int) async throws {
    let setting = try FaceSetting { .file($0) }
    let journal = MemoryJournal()
    journal.onAppend { _ in JournalError(.diskFull, "Full") }
    let thrown = await failure {
      for try await _ in setting.downloader.outcomes(
        of: addresses(0..<count), to: setting.folder, journal: journal)
      {}
    }
    #expect((thrown as? JournalError)?.kind == .diskFull)
  }

  @Test("Every iterator is a batch of its own")
  func twice() async throws {
    let setting = try FaceSetting { .file($0) }
    let outcomes = setting.downloader.outcomes(of: addresses(0..<5), limit: 2, atMost: 100)
    for _ in 1...2 {
      var count = 0
      for try await outcome in outcomes {
        _ = try outcome.get()
        count += 1
      }
      #expect(count == 5)
    }
    #expect(setting.requests == 10)
  }

  @Test("An empty list has no outcome")
  func empty() async throws {
    let setting = try FaceSetting { .file($0) }
    for try await _ in setting.downloader.outcomes(of: [String](), to: setting.folder) {
      Issue.record("An outcome of nothing")
    }
    for try await _ in setting.downloader.outcomes(of: [String](), atMost: 0) {
      Issue.record("An outcome of nothing")
    }
  }
}

/// A list that counts how far it was read.
struct CountedList: Sequence, Sendable {
  let count: Int
  let taken: Watched<Int>

  func makeIterator() -> AnyIterator<String> {
    var next = 0
    return AnyIterator {
      guard next < count else { return nil }
      defer { next += 1 }
      taken.update { $0 += 1 }
      return "http://h/\(next)"
    }
  }
}

extension Gate {
  /// Waits until the gate is open or the task is cancelled.
  func passQuietly() async { try? await passUnlessCancelled() }
}
