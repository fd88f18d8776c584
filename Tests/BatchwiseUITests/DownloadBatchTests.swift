// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseDownload
import BatchwiseTesting
import Synchronization
import TestSupport
import Testing

@testable import BatchwiseUI

@Suite("A batch to look at", .timeLimit(.minutes(1)))
@MainActor
struct DownloadBatchTests {
  @Test("Nothing begins before the start; then the rows are done in their order")
  func order() async throws {
    let look = try Look(urls(0..<5), limit: 1) { .file($0) }
    let batch = try #require(look.batch)
    #expect(batch.phase == .ready && batch.kinds == Array(repeating: .waiting, count: 5))
    #expect(batch.rows.map(\.url) == urls(0..<5) && batch.rows.map(\.id) == Array(0..<5))
    #expect(look.transport.record.value.urls.isEmpty)
    batch.start()
    #expect(batch.phase == .running)
    await batch.wait { $0.phase == .done }
    #expect(look.transport.record.value.urls == urls(0..<5))
    #expect(batch.rows.map(\.file) == ["0", "1", "2", "3", "4"])
    #expect(look.folder.files == ["0", "1", "2", "3", "4"])
    let status = batch.status
    #expect(status.done == 5 && status.items == 5 && status.ended == 5 && status.fraction == 1)
    #expect(status.received == 5 * 10)
    await batch.wait { $0.status.inFlight == 0 }
  }

  @Test("The limit is the peak in flight, and holds when it is changed")
  func limit() async throws {
    let gates = (0..<12).map { _ in Gate() }
    let look = try Look(urls(0..<12), limit: 3) { url in
      await gates[Int(url.dropFirst(9)) ?? 0].pass()
      return .file(url)
    }
    let batch = try #require(look.batch)
    batch.start()
    await batch.wait { $0.kinds.count { $0 == .inFlight } == 3 && $0.status.inFlight == 3 }
    #expect(look.transport.record.value.inFlight == 3)
    batch.limit = 5
    #expect(batch.limit == 5)
    await batch.wait { $0.status.inFlight == 5 }
    #expect(look.transport.record.value.inFlight == 5)
    batch.limit = 1
    for gate in gates.prefix(4) { gate.open() }
    await batch.wait { $0.status.done == 4 && $0.status.inFlight == 1 }
    #expect(look.transport.record.value.urls.count == 5)
    for gate in gates { gate.open() }
    await batch.wait { $0.phase == .done }
    #expect(look.transport.record.value.peak == 5 && batch.status.peakInFlight == 5)
  }

  @Test("A limit of 0 before the start lets nothing begin until it is raised")
  func closed() async throws {
    let look = try Look(urls(0..<3)) { .file($0) }
    let batch = try #require(look.batch)
    batch.limit = 0
    batch.start()
    batch.limit = 2
    await batch.wait { $0.phase == .done }
    #expect(look.transport.record.value.peak == 2)
  }

  @Test("A pause holds at once: what ends meanwhile lets nothing else start")
  func pause() async throws {
    let gate = Gate()
    let look = try Look(urls(0..<9), limit: 2) { url in
      await gate.pass()
      return .file(url)
    }
    let batch = try #require(look.batch)
    batch.pause()
    #expect(batch.phase == .ready)
    batch.start()
    await look.transport.record.wait { $0.inFlight == 2 }
    batch.pause()
    #expect(batch.phase == .paused)
    gate.open()
    await batch.wait { $0.status.done == 2 && $0.status.inFlight == 0 }
    #expect(look.transport.record.value.urls == urls(0..<2))
    #expect(batch.status.waiting == 7 && batch.phase == .paused)
    batch.resume()
    #expect(batch.phase == .running)
    await batch.wait { $0.phase == .done }
    #expect(batch.status.done == 9)
  }

  @Test("A cancel leaves the rest, and a start goes on with it, also before all of it is left")
  func cancel() async throws {
    let isOpen = Watched(false)
    let look = try Look(urls(0..<1000), limit: 3) { url in
      await isOpen.wait { $0 }
      return .file(url)
    }
    let batch = try #require(look.batch)
    batch.cancel()
    #expect(batch.phase == .ready)
    batch.start()
    await look.transport.record.wait { $0.inFlight == 3 }
    batch.cancel()
    #expect(batch.phase == .cancelled)
    await batch.wait { $0.status.left == 1000 }
    #expect(look.transport.record.value.inFlight == 0)
    for _ in 0..<5 {
      batch.start()
      #expect(batch.phase == .running)
      await look.transport.record.wait { $0.inFlight == 3 }
      batch.cancel()
    }
    isOpen.update { $0 = true }
    batch.start()
    await batch.wait { $0.phase == .done }
    #expect(batch.status.done == 1000 && batch.status.left == 0)
    #expect(look.folder.files.count == 1000)
    batch.cancel()
    #expect(batch.phase == .done)
  }

  @Test("What failed says why in words, and is asked for again, one by one or all")
  func retry() async throws {
    let isWell = Mutex(false)
    let look = try Look(urls(0..<6)) { url in
      url.hasSuffix("0") || isWell.withLock { $0 } ? .file(url) : .status(404)
    }
    let batch = try #require(look.batch)
    batch.start()
    await batch.wait { $0.phase == .done }
    #expect(batch.status.failed == 5 && batch.status.done == 1 && batch.status.fraction == 1)
    #expect(batch.rows[3].failureMessage?.contains("404") == true)
    #expect(batch.rows[3].canBeRetried && !batch.rows[0].canBeRetried)
    #expect(!batch.retry(batch.rows[0]))
    isWell.withLock { $0 = true }
    #expect(batch.retry(batch.rows[3]))
    #expect(batch.phase == .running)
    await batch.wait { $0.phase == .done }
    #expect(batch.rows[3].kind == .done && batch.rows[3].failureMessage == nil)
    #expect(batch.retryFailed() == 4)
    await batch.wait { $0.phase == .done }
    #expect(batch.status.done == 6 && batch.status.failed == 0)
    #expect(batch.retryFailed() == 0)
  }

  @Test("Further requests are added before the start, while it runs, and when it is done")
  func add() async throws {
    let gate = Gate()
    let look = try Look(urls(0..<2), limit: 2) { url in
      await gate.pass()
      return .file(url)
    }
    let batch = try #require(look.batch)
    batch.add(urls(2..<4))
    batch.start()
    await look.transport.record.wait { $0.inFlight == 2 }
    batch.add(urls(4..<6).map { DownloadRequest($0, name: "n" + $0.suffix(1)) })
    #expect(batch.rows.count == 6 && batch.status.items == 6)
    gate.open()
    await batch.wait { $0.phase == .done }
    batch.add(["no address", "http://h/6"])
    #expect(batch.phase == .running && batch.rows.count == 8)
    await batch.wait { $0.phase == .done }
    #expect(batch.kinds == Array(repeating: .done, count: 6) + [.failed, .done])
    #expect(batch.rows[5].file == "n5" && batch.rows[6].failureMessage != nil)
  }

  @Test("A request that pauses before another attempt says why its last one failed")
  func pausing() async throws {
    let folder = try TemporaryFolder()
    var options = DownloadOptions()
    options.backoff = .constant(.seconds(3600))
    let batch = DownloadBatch(
      urls(0..<1), to: try OutputFolder(path: folder.path), limit: 1,
      transport: FakeTransport { _ in
        .end(.failed(DownloadFailure(.connect, "Nobody there", remedy: .anotherAttempt)))
      },
      options: options)
    batch.start()
    await batch.wait { $0.kinds == [.pausing] }
    #expect(batch.rows[0].failureMessage == "Nobody there")
    #expect(batch.phase == .running && batch.status.waiting == 1)
  }
}
