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

  // MARK: - RecentAddresses

  @Test("An address is told to be known until as many others as are remembered have come")
  func recentAddresses() throws {
    var recent = RecentAddresses()
    func isNew(_ name: some CustomStringConvertible) throws -> Bool {
      recent.insert(try WebAddress("http://h/\(name)"))
    }
    for number in 1...RecentAddresses.capacity where try !isNew(number) {
      Issue.record("\(number) is new")
    }
    var isOldestNew = try isNew(1)
    #expect(!isOldestNew)
    // One more makes the oldest be forgotten, and then the next oldest makes room for that.
    let isFurtherNew = try isNew("further")
    isOldestNew = try isNew(1)
    let isNextOldestNew = try isNew(2)
    #expect(isFurtherNew && isOldestNew && isNextOldestNew)
    let isFurtherStillNew = try isNew("further")
    #expect(!isFurtherStillNew)
  }
}
