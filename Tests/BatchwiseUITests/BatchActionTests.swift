// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseUI

@Suite("What the views of a batch say", .timeLimit(.minutes(1)))
@MainActor
struct BatchActionTests {
  @Test("The button starts, pauses, resumes and starts again, and rests when all is done")
  func button() async throws {
    let isOpen = Watched(false)
    let look = try Look(urls(0..<8), limit: 2) { url in
      await isOpen.wait { $0 }
      return .file(url)
    }
    let batch = try #require(look.batch)
    func press(_ title: String) {
      #expect(BatchAction(batch.phase).title == title)
      BatchAction(batch.phase).perform(on: batch)
    }
    press("Download Batch")
    press("Pause")
    press("Resume")
    batch.cancel()
    press("Start Again")
    #expect(batch.phase == .running)
    isOpen.update { $0 = true }
    await batch.wait { $0.phase == .done }
    press("Downloaded")
    #expect(batch.phase == .done && batch.status.done == 8)
    #expect(BatchAction(.failed("No room")) == .startAgain)
  }

  @Test("Counts and rows are said in words")
  func words() async throws {
    let look = try Look(urls(0..<4)) { url in
      url.hasSuffix("3") ? .status(404) : .file(url)
    }
    let batch = try #require(look.batch)
    #expect(batch.status.words == "0 of 4" && batch.rows[0].words == "waiting")
    #expect(batch.rows[0].name == "http://h/0")
    batch.start()
    await batch.wait { $0.phase == .done && $0.status.inFlight == 0 }
    #expect(batch.status.words == "4 of 4, 1 failed")
    #expect(batch.rows.map(\.words) == ["downloaded", "downloaded", "downloaded", "failed"])
    #expect(batch.rows[0].name == "0" && batch.rows[3].name == "http://h/3")
  }

  @Test("There are twenty sample pictures, and each has an address and a name of its own")
  func samples() {
    let requests = SamplePictures.requests
    #expect(requests.count == 20)
    #expect(Set(requests.map(\.url)).count == 20 && Set(requests.map(\.name)).count == 20)
    #expect(requests.allSatisfy { $0.url.hasPrefix("https://") })
  }
}
