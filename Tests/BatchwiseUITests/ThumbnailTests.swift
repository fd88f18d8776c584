// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseUI

@Suite("Pictures of a batch that is looked at", .timeLimit(.minutes(1)))
@MainActor
struct ThumbnailTests {
  @Test("Pictures come as they arrive, and only what the first bytes show to be one")
  func arrive() async throws {
    let look = try Look(urls(0..<4)) { url in
      url.hasSuffix("2") ? .file("<svg xmlns='http://www.w3.org/2000/svg'/>") : .picture(100)
    }
    let batch = try #require(look.batch)
    batch.start()
    await batch.wait { $0.rows.count { $0.thumbnail != nil } == 3 }
    await batch.wait { $0.phase == .done }
    #expect(batch.rows[2].thumbnail == nil && batch.rows[2].kind == .done)
    #expect(batch.rows[0].thumbnail?.count == 100)
    #expect(batch.rows[0].thumbnail.map { [UInt8]($0) } == look.folder["0"])
    #expect(batch.shelf.used == 300)
  }

  @Test("All keep to the bound; what is asked for comes, and the oldest goes for it")
  func bound() async throws {
    let look = try Look(urls(0..<6), limit: 1, thumbnailBytes: 250) { _ in .picture(100) }
    let batch = try #require(look.batch)
    func shown() -> [Int] { batch.rows.filter { $0.thumbnail != nil }.map(\.id) }
    batch.start()
    await batch.wait { $0.phase == .done }
    await batch.wait { $0.rows.count { $0.thumbnail != nil } == 2 }
    #expect(shown() == [0, 1])
    batch.loadThumbnail(of: batch.rows[5])
    await batch.wait { $0.rows[5].thumbnail != nil }
    #expect(shown() == [1, 5])
    batch.loadThumbnail(of: batch.rows[1])
    batch.loadThumbnail(of: batch.rows[0])
    await batch.wait { $0.rows[0].thumbnail != nil }
    #expect(shown() == [0, 1] && batch.shelf.used == 200)
  }

  @Test("A picture longer than the whole bound never comes, and without a bound none does")
  func tooLong() async throws {
    for (bound, count) in [(99, 0), (0, 0), (100, 1)] {
      let look = try Look(urls(0..<2), limit: 1, thumbnailBytes: bound) { url in
        .picture(url.hasSuffix("0") ? 100 : 20)
      }
      let batch = try #require(look.batch)
      batch.start()
      await batch.wait { $0.phase == .done }
      // In order: what was asked for last is there after all others.
      batch.loadThumbnail(of: batch.rows[0])
      if bound > 0, count == 0 {
        batch.loadThumbnail(of: batch.rows[1])
        await batch.wait { $0.rows[1].thumbnail != nil }
      } else if count == 1 {
        await batch.wait { $0.rows[0].thumbnail != nil }
      }
      #expect((batch.rows[0].thumbnail == nil) == (count == 0))
      #expect(batch.shelf.used <= bound)
    }
  }

  @Test("Of a file that was there already, its picture comes too")
  func skipped() async throws {
    let journal = MemoryJournal()
    let look = try Look(urls(0..<2), journal: journal) { _ in .picture(50) }
    let batch = try #require(look.batch)
    batch.start()
    await batch.wait { $0.phase == .done }
    let again = DownloadBatch(
      urls(0..<2), to: try OutputFolder(path: look.folder.path), limit: 2,
      transport: look.transport, journal: journal)
    again.start()
    await again.wait { $0.rows.allSatisfy { $0.thumbnail?.count == 50 } }
    #expect(again.kinds == [.skipped, .skipped] && again.status.skipped == 2)
    #expect(look.transport.record.value.urls.count == 2)
  }
}
