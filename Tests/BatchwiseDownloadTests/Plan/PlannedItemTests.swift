// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import BatchwiseDownload

@Suite(.timeLimit(.minutes(1)))
struct PlannedItemTests {
  @Test("An item's own flaw comes before what is wrong with its address")
  func flaws() {
    let flaw = DownloadFailure(.badURL, "A flaw")
    #expect(throws: flaw) { try PlannedItem(WorkItem(address: "no address", flaw: flaw)) }
    #expect(throws: flaw) { try PlannedItem(WorkItem(address: "http://h/a", flaw: flaw)) }
    #expect(throws: DownloadFailure.self) { try PlannedItem(WorkItem(address: "no address")) }
  }

  // MARK: - RecentValues

  @Test("An item is told to be known until as many others as are remembered have come")
  func recentItems() {
    var recent = RecentValues<ItemKey>()
    func isNew(_ number: Int) -> Bool { recent.insert(ItemKey(rawValue: Int64(number))) }
    for number in 1...RecentValues<ItemKey>.capacity where !isNew(number) {
      Issue.record("\(number) is new")
    }
    #expect(!isNew(1))
    // One more makes the oldest be forgotten, and then the next oldest makes room for that.
    #expect(isNew(0))
    #expect(isNew(1))
    #expect(isNew(2))
    #expect(!isNew(0))
  }
}
