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

  @Test("A name that was given back is not given again, unless files may be overwritten")
  func release() throws {
    let first = try item("http://h/1/a.png")
    let second = try item("http://h/2/a.png")
    for policy in CollisionPolicy.allCases {
      var claims = NameClaims()
      let claimed = claims.claim(for: first, policy)
      let held = try #require(claimed)
      let whileHeld = claims.claim(for: second, policy)
      #expect(whileHeld == (policy == .suffix ? second.alternative : nil))
      claims.release(held)
      let afterwards = claims.claim(for: try item("http://h/3/a.png"), policy)
      switch policy {
      case .suffix: #expect(afterwards == (try item("http://h/3/a.png")).alternative)
      case .overwrite: #expect(afterwards == held)
      case .skip, .fail: #expect(afterwards == nil)
      }
    }
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

  private func item(_ address: String) throws -> PlannedItem {
    try PlannedItem(WorkItem(address: address))
  }
}
