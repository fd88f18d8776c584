// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import Foundation
import TestSupport
import Testing

@testable import BatchwiseUI

@Suite("How a batch that is looked at ends early", .timeLimit(.minutes(1)))
@MainActor
struct EndingTests {
  @Test("A journal that cannot be written ends it with a sentence; a start goes on with the rest")
  func journal() async throws {
    let journal = MemoryJournal()
    journal.onAppend { _ in JournalError(.failed, "The journal broke") }
    let look = try Look(urls(0..<40), journal: journal) { url in
      url.hasSuffix("7") ? .status(404) : .file(url)
    }
    let batch = try #require(look.batch)
    batch.start()
    await batch.wait { $0.phase == .failed("The journal broke") }
    #expect(batch.status.left + batch.status.failed == 40 && batch.status.inFlight == 0)
    #expect(!batch.kinds.contains(.waiting))
    journal.onAppend { _ in nil }
    batch.start()
    #expect(batch.phase == .running)
    await batch.wait { $0.phase == .done }
    batch.retryFailed()
    await batch.wait { $0.phase == .done }
    #expect(batch.status.done == 36 && batch.status.failed == 4 && batch.status.left == 0)
    #expect(look.folder.files.count == 36)
    #expect(batch.status.received >= 36 * 10)
  }

  @Test("What has failed before is tried again by the run after that which broke")
  func failedBefore() async throws {
    let journal = MemoryJournal()
    let isWell = Watched(false)
    let look = try Look(urls(0..<2), limit: 1, journal: journal) { url in
      isWell.value ? .file(url) : .status(404)
    }
    let batch = try #require(look.batch)
    batch.start()
    await batch.wait { $0.status.failed == 2 }
    journal.onAppend { _ in JournalError(.failed, "The journal broke") }
    batch.add(["http://h/5"])
    await batch.wait { $0.phase == .failed("The journal broke") }
    journal.onAppend { _ in nil }
    isWell.update { $0 = true }
    batch.start()
    batch.retryFailed()
    await batch.wait { $0.phase == .done }
    #expect(batch.kinds == [.done, .done, .done])
  }

  @Test("A folder that is gone is a sentence, and is tried again by the next start")
  func folder() async throws {
    let journal = MemoryJournal()
    journal.onAppend { _ in JournalError(.failed, "The journal broke") }
    let look = try Look(urls(0..<3), journal: journal) { .file($0) }
    let batch = try #require(look.batch)
    batch.start()
    await batch.wait { if case .failed = $0.phase { true } else { false } }
    try FileManager.default.removeItem(atPath: look.folder.path)
    batch.start()
    guard case .failed(let sentence) = batch.phase else {
      Issue.record("The phase is \(batch.phase)")
      return
    }
    #expect(sentence.contains("The output folder"))
    #expect(batch.status.left == 3)
  }

  @Test("A full disk ends it with a sentence", .enabled(if: SmallDisk.isAllowed))
  func fullDisk() async throws {
    let parent = try TemporaryFolder()
    await #expect(processExitsWith: .success) { [path = parent.path as String] in
      try #require(SmallDisk.lay(onto: path, bytes: 1_000_000))
      let folder = try OutputFolder(path: path)
      let transport = FakeTransport { _ in .picture(60_000) }
      await { @MainActor in
        let batch = DownloadBatch(urls(0..<100), to: folder, limit: 3, transport: transport)
        batch.start()
        await batch.wait { if case .failed = $0.phase { true } else { false } }
        #expect(batch.phase == .failed("There is no room left on the disk for further files."))
        #expect(batch.status.done > 0 && batch.status.done + batch.status.left <= 100)
        #expect(batch.status.left > 0 && transport.record.value.inFlight == 0)
      }()
    }
  }

  @Test("A batch that nobody holds is cancelled, and nothing of it is left")
  func dropped() async throws {
    let look = try Look(urls(0..<50), limit: 3) { url in
      await Watched(false).wait { $0 }
      return .file(url)
    }
    weak let dropped = look.batch
    look.batch?.start()
    await look.transport.record.wait { $0.inFlight == 3 }
    look.drop()
    #expect(dropped == nil)
    await look.transport.record.wait { $0.inFlight == 0 }
    #expect(look.transport.record.value.urls.count == 3)
    #expect(look.folder.files.isEmpty)
  }

  @Test("A batch that is done, and nobody holds any more, ends its run too")
  func droppedWhenDone() async throws {
    let look = try Look(urls(0..<3)) { .picture($0.count) }
    weak var transport: FakeTransport?
    weak var batch: DownloadBatch?
    let folder = try OutputFolder(path: look.folder.path)
    do {
      let carrier = FakeTransport { .file($0) }
      let model = DownloadBatch(urls(0..<3), to: folder, limit: 2, transport: carrier)
      (transport, batch) = (carrier, model)
      model.start()
      await model.wait { $0.phase == .done }
    }
    // The run holds the transport, and its task the run.
    while transport != nil { await Task.yield() }
    #expect(batch == nil)
  }
}
