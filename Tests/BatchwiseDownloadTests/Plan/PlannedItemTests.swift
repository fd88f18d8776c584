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

  // MARK: - NameClaims

  @Test("Whoever claims first may have the plain name, and later ones only their own alternative")
  func claims() throws {
    var claims = NameClaims()
    let first = try item("http://h/1/a.png")
    let second = try item("http://h/2/a.png")
    let names = [claims.claim(for: first), claims.claim(for: second)]
    #expect(names == [first.path, second.alternative])
  }

  @Test("A name that was given back can be claimed again, and no other was given back with it")
  func release() throws {
    var claims = NameClaims()
    let first = try item("http://h/1/a.png")
    let second = try item("http://h/2/a.png")
    let held = claims.claim(for: first)
    let alternative = claims.claim(for: second)
    claims.release(try #require(held))
    let heldAgain = claims.claim(for: first)
    #expect(heldAgain == held)
    claims.release(try #require(alternative))
    let alternativeAgain = claims.claim(for: second)
    #expect(alternativeAgain == alternative)
  }

  @Test("An item that differs only in its password finds both names held, and gets none")
  func exhausted() throws {
    var claims = NameClaims()
    let items = try ["u", "v", "w"].map { try item("http://\($0)@h/a.png") }
    let names = items.map { claims.claim(for: $0) }
    #expect(names == [items[0].path, items[0].alternative, nil])
  }

  @Test("Names that a file system may take for one are one name")
  func equivalentNames() throws {
    var claims = NameClaims()
    let items = try ["http://h/%C3%A9.png", "http://h/e%CC%81.png"].map(item)
    let names = items.map { claims.claim(for: $0) }
    #expect(names == [items[0].path, items[1].alternative])
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

  private func item(_ address: String) throws -> PlannedItem {
    try PlannedItem(WorkItem(address: address))
  }
}
