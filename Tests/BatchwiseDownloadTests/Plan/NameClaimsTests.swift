// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import BatchwiseDownload

@Suite(.timeLimit(.minutes(1)))
struct NameClaimsTests {
  @Test("Whoever claims first may have the plain name, and later ones only their own alternative")
  func claims() throws {
    var claims = NameClaims()
    let items = try ["http://h/1/a.png", "http://h/2/a.png"].map { try item($0) }
    let paths = items.map { claims.claim(for: $0) }
    #expect(paths == [items[0].path, items[1].alternative])
  }

  @Test("An item that is over keeps its name from later ones, however it ended")
  func release() throws {
    var claims = NameClaims()
    let items = try (1...3).map { try item("http://h/\($0)/a.png") }
    var paths: [OutputPath?] = []
    for item in items {
      let path = claims.claim(for: item)
      paths.append(path)
      claims.release(try #require(path))
    }
    #expect(paths == [items[0].path, items[1].alternative, items[2].alternative])
  }

  @Test("An item that differs only in its password finds both names taken, and gets none")
  func exhausted() throws {
    var claims = NameClaims()
    let items = try ["u", "v", "w"].map { try item("http://\($0)@h/a.png") }
    let paths = items.map { claims.claim(for: $0) }
    #expect(paths == [items[0].path, items[0].alternative, nil])
  }

  @Test(
    "Names that a file system may take for one are one name",
    arguments: [
      ("http://h/1/%C3%A9.png", "http://h/2/e%CC%81.png"), ("http://h/A.jpg", "http://h/a.jpg"),
      ("http://h/STRASSE", "http://h/stra%C3%9Fe"),
    ])
  func equivalentNames(first: String, second: String) throws {
    for isOver in [false, true] {
      var claims = NameClaims()
      let items = try [first, second].map { try item($0) }
      let path = claims.claim(for: items[0])
      #expect(path == items[0].path)
      if isOver, let path { claims.release(path) }
      let other = claims.claim(for: items[1])
      #expect(other == items[1].alternative)
    }
  }

  @Test("Names in folders are claimed as a whole")
  func folders() throws {
    var claims = NameClaims()
    let items = try ["a/x", "b/x", "A/X", "x"].map { try item("http://h/1", name: $0) }
    let paths = items.map { claims.claim(for: $0) }
    #expect(paths == [items[0].path, items[1].path, items[2].alternative, items[3].path])
  }

  @Test(
    "With the policies skip and fail a later item gets no name",
    arguments: [CollisionPolicy.skip, .fail])
  func noAlternative(policy: CollisionPolicy) throws {
    var claims = NameClaims()
    let items = try (1...3).map { try item("http://h/\($0)/a.png") }
    let first = claims.claim(for: items[0], policy)
    #expect(first == items[0].path)
    var later = claims.claim(for: items[1], policy)
    #expect(later == nil)
    claims.release(items[0].path)
    later = claims.claim(for: items[2], policy)
    #expect(later == nil)
  }

  @Test("With the policy overwrite a later item gets the name once the earlier one is over")
  func overwrite() throws {
    var claims = NameClaims()
    let items = try (1...2).map { try item("http://h/\($0)/a.png") }
    let first = claims.claim(for: items[0], .overwrite)
    #expect(first == items[0].path)
    let early = claims.claim(for: items[1], .overwrite)
    #expect(early == nil)
    claims.release(items[0].path)
    let later = claims.claim(for: items[1], .overwrite)
    #expect(later == items[1].path)
  }

  @Test("Of items that are over the last 65,536 names are known, and those in flight in any case")
  func memory() throws {
    var claims = NameClaims()
    let held = try item("http://h/1/held")
    _ = claims.claim(for: held)
    for number in 0...65_536 {
      let path = claims.claim(for: try item("http://h/1/\(number)"))
      claims.release(try #require(path))
    }
    let wishes = try ["held", "0", "1", "65536"].map { try item("http://h/2/\($0)") }
    let paths = wishes.map { claims.claim(for: $0) }
    #expect(
      paths == [
        wishes[0].alternative, wishes[1].path, wishes[2].alternative, wishes[3].alternative,
      ])
  }

  private func item(_ address: String, name: String? = nil) throws -> PlannedItem {
    var item = WorkItem(address: address)
    item.name = name
    return try PlannedItem(item)
  }
}
