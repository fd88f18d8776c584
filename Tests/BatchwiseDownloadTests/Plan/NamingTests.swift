// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseDownload

@Suite(.timeLimit(.minutes(1)))
struct NamingTests {
  @Test(
    "Names by number have eight digits at least and the address's extension",
    arguments: [
      (1, "http://h/a.png", "00000001.png"), (12_345_678, "http://h/a.tar.gz", "12345678.tar.gz"),
      (123_456_789, "http://h/", "123456789"), (7, "http://h/a?x=b.png", "00000007"),
      (7, "http://h/%2e%2e%2fa.png", "00000007.png"), (7, "http://h/.png", "00000007"),
    ])
  func numbers(number: Int, address: String, name: String) throws {
    #expect(try self.name(address, .index, number: number) == name)
  }

  @Test("Names by hash are 32 digits of the whole address, without its password, and its extension")
  func hashes() throws {
    let name = try name("http://h/a.png?x=1", .hash)
    #expect(name.utf8.count == 36 && name.hasSuffix(".png"))
    #expect(name.utf8.dropLast(4).allSatisfy { $0.hexValue != nil })
    #expect(
      name == "a68695516d44877abad5005c8fc8f3e9.png",
      "Changing the hash would give the files of every earlier list new names")
    #expect(try name == self.name("http://u:p@h/a.png?x=1", .hash))
    #expect(try name != self.name("http://h/a.png?x=2", .hash))
    let names = try Set((1...1000).map { try self.name("http://h/a?id=\($0)", .hash) })
    #expect(names.count == 1000)
  }

  @Test("The hash is the one that its authors describe")
  func testVectors() {
    func hash64(_ text: String) -> UInt64 {
      var hash = StableHash<UInt64>()
      hash.add(text)
      return hash.value
    }
    func hash128(_ text: String) -> UInt128 {
      var hash = StableHash<UInt128>()
      hash.add(text)
      return hash.value
    }
    #expect(hash64("") == 0xcbf2_9ce4_8422_2325)
    #expect(hash64("a") == 0xaf63_dc4c_8601_ec8c)
    #expect(hash64("foobar") == 0x8594_4171_f739_67e8)
    #expect(hash128("a") == 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964)
    #expect(hash128("foobar") == 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18)
  }

  @Test("A name that the list gives comes before any way to make one")
  func listedName() throws {
    var item = WorkItem(line: 3, address: "http://h/a.png")
    item.name = "x/y.jpg"
    for naming in Naming.allCases {
      #expect(try PlannedItem(item, naming: naming, number: 9).path.description == "x/y.jpg")
    }
    item.name = "../y"
    let failure = #expect(throws: DownloadFailure.self) { try PlannedItem(item) }
    #expect(failure?.reason == .name)
    item.name = ""
    #expect(throws: DownloadFailure.self) { try PlannedItem(item) }
  }

  @Test(
    "A name that is a device elsewhere gets a mark in front, and one that only begins so does not",
    arguments: [
      ("CON", "_CON"), ("con.png", "_con.png"), ("Nul.tar.gz", "_Nul.tar.gz"), ("aux", "_aux"),
      ("com1.txt", "_com1.txt"), ("LPT9", "_LPT9"), ("COM%C2%B9", "_COM¹"), ("conin$", "_conin$"),
      ("CON%20.txt", "_CON .txt"), ("prn.a.b", "_prn.a.b"), ("COM0", "_COM0"),
      ("com10", "com10"), ("console", "console"), ("a.con", "a.con"), ("nulls.png", "nulls.png"),
      ("lpt", "lpt"), ("comx", "comx"), ("_con", "_con"), ("c", "c"),
    ])
  func devices(segment: String, name: String) throws {
    #expect(try self.name("http://h/" + segment, .url) == name)
  }

  @Test("Accents in an address are written in one way in the name")
  func normalForm() throws {
    for segment in ["%C3%BC.png", "u%CC%88.png", "ü.png", "u\u{308}.png"] {
      #expect(Array(try name("http://h/" + segment, .url).utf8) == Array("ü.png".utf8))
    }
  }

  private func name(_ address: String, _ naming: Naming, number: Int = 1) throws -> String {
    try PlannedItem(WorkItem(address: address), naming: naming, number: number).path.description
  }
}
