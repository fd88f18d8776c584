// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseDownload

@Suite(.timeLimit(.minutes(1)))
struct FileNameTests {
  @Test("Every hostile name gets the safe name that was agreed on", arguments: hostileNames)
  func corpus(segment: String, expected: String) throws {
    let address = try WebAddress("http://h/" + segment)
    let name = FileName(for: address)
    #expect(name.description == expected)
    #expect(flaw(of: name) == nil)
    #expect(flaw(of: name.alternative(for: address)) == nil)
  }

  @Test(
    "An address is named by the last segment of its path, decoded once",
    arguments: [
      ("http://h/a/b.png?x=1&y=/z#f", "b.png"), ("http://h/a%20b.png", "a b.png"),
      ("http://h/%C3%BC.png", "ü.png"), ("http://h/ü.png", "ü.png"), ("http://h/a/", "index"),
      ("http://h", "index"), ("http://h/File:A.jpg", "File:A.jpg"), ("http://h/a;b", "a;b"),
    ])
  func plainNames(address: String, expected: String) throws {
    #expect(FileName(for: try WebAddress(address)).description == expected)
  }

  @Test("A name of 255 bytes is kept, and one of 256 is shortened and keeps its extension")
  func longestName() throws {
    let kept = String(repeating: "a", count: 251) + ".png"
    #expect(try name("http://h/" + kept) == kept)
    for count in [252, 500, 3996] {
      let shortened = try name("http://h/" + String(repeating: "a", count: count) + ".png")
      #expect(shortened.utf8.count == 255)
      #expect(shortened.hasSuffix(".png"))
      #expect(shortened.hasPrefix(String(repeating: "a", count: 200)))
    }
  }

  @Test(
    "A long name is cut between two characters, however many bytes they have",
    arguments: ["ü", "例", "😀", "q\u{301}", "👨\u{200D}👩", "🇩"])
  func multiByteNames(unit: String) throws {
    for shift in 0..<4 {
      let start = String(repeating: "a", count: shift)
      let shortened = try name("http://h/" + start + String(repeating: unit, count: 200) + ".jpeg")
      let scalars = Set(unit.unicodeScalars)
      #expect((252...255).contains(shortened.utf8.count))
      #expect(shortened.hasSuffix(".jpeg"))
      #expect(shortened.unicodeScalars.dropFirst(shift).prefix(30).allSatisfy(scalars.contains))
    }
  }

  @Test("One character that is longer than any name does not make a name that begins with a mark")
  func endlessCharacter() throws {
    let accents = String(repeating: "\u{301}", count: 30_000)
    let shortened = try name("http://h/q" + accents + ".png")
    #expect(shortened.utf8.first == UInt8(ascii: "q"))
    #expect(shortened.utf8.count <= 255)
    #expect(shortened.hasSuffix(".png"))
  }

  @Test("A row of accents that takes long to bring in order is cut before that")
  func disorderedAccents() throws {
    // Unbounded, one of them takes five seconds, for the time grows with the square of the length.
    for number in 0..<6 {
      let accents = String(repeating: "\u{301}\u{316}", count: 64_000)
      let shortened = try name("http://h/q\(number)" + accents + ".png")
      #expect(shortened.utf8.starts(with: "q\(number)".utf8) && shortened.hasSuffix(".png"))
      #expect((252...255).contains(shortened.utf8.count))
      #expect(throws: DownloadFailure.self) { try OutputPath(listed: accents) }
    }
    // In three times as many bytes, what is too long in the normal form as well.
    let hangul = String(repeating: "\u{1100}\u{1161}\u{11A8}", count: 500)
    #expect(try name("http://h/" + hangul + ".png").utf8.count > 250)
  }

  @Test(
    "Names that are hard to cut into characters keep their extension",
    arguments: ["🇩", "a\u{301}", "👨\u{200D}", "%20", ".", ".png"])
  func hardNames(text: String) throws {
    let long = String(repeating: text, count: 60_000 / text.utf8.count)
    let shortened = try name("http://h/a" + long + ".png")
    #expect(shortened.utf8.first == UInt8(ascii: "a"))
    #expect(shortened.hasSuffix(".png"))
    #expect((252...255).contains(shortened.utf8.count))
  }

  @Test("Long names that begin alike stay different, and are the same on every run")
  func longNamesDiffer() throws {
    let start = "http://h/" + String(repeating: "a", count: 300)
    #expect(try name(start + "1.png") != name(start + "2.png"))
    #expect(try name(start + "1.png?x") != name(start + "1.png?y"))
    #expect(
      try name(start + ".png") == String(repeating: "a", count: 238) + "-2aaab5b07226.png",
      "Changing the mark would give the files of every earlier list new names")
  }

  @Test(
    "The alternative name bears a mark before the extension, and the same one on every run",
    arguments: [
      ("http://h/a.png", "a-", ".png"), ("http://h/a.tar.gz", "a-", ".tar.gz"),
      ("http://h/a.TAR.xz", "a-", ".TAR.xz"), ("http://h/a", "a-", ""),
      ("http://h/", "index-", ""), ("http://h/a.b.c", "a.b-", ".c"),
      ("http://h/v1.2 final", "v1.2 final-", ""), ("http://h/.tar.gz", "_tar-", ".gz"),
      ("http://h/a.elevenchars", "a.elevenchars-", ""), ("http://h/a.üü", "a.üü-", ""),
    ])
  func alternatives(text: String, start: String, ending: String) throws {
    let address = try WebAddress(text)
    let alternative = FileName(for: address).alternative(for: address).description
    #expect(alternative.hasPrefix(start) && alternative.hasSuffix(ending))
    let mark = alternative.dropFirst(start.count).dropLast(ending.count)
    #expect(mark.count == 12 && mark.allSatisfy(\.isHexDigit))
    #expect(alternative == FileName(for: address).alternative(for: address).description)
  }

  @Test("The alternative name tells apart what only the query tells apart, and hides the password")
  func alternativesOfQueries() throws {
    let names = try Set(
      (1...1000).map { number in
        let address = try WebAddress("http://h/get?id=\(number)")
        return FileName(for: address).alternative(for: address)
      })
    #expect(names.count == 1000)
    let open = try WebAddress("http://h/a")
    let secret = try WebAddress("http://u:p@h/a")
    #expect(
      FileName(for: open).alternative(for: open) == FileName(for: secret).alternative(for: secret))
  }

  @Test("A name that is already shortened has an alternative too")
  func alternativeOfLongName() throws {
    let address = try WebAddress("http://h/" + String(repeating: "ü", count: 300) + ".tar.gz")
    let name = FileName(for: address)
    let alternative = name.alternative(for: address)
    #expect(alternative != name)
    #expect(alternative.description.hasSuffix(".tar.gz"))
    #expect(flaw(of: alternative) == nil)
  }

  @Test("Whatever the address, the name is one safe component, and so is its alternative")
  func randomAddresses() throws {
    var random = SeededGenerator(seed: 3)
    let pieces = [
      "..", ".", "/", "\\", "%2f", "%5c", "%00", "%0a", "%2e", "%", "%e", "%ff", "%c3", "%bc", "ü",
      " ", "%20", "-", "~", ".batchwise", ".tar.gz", ".png", "😀", "%F0%9F%98%80", "\u{301}",
      "\u{202E}", "%E2%80%AE", "a", String(repeating: "b", count: 100), "?", "#", "+", ":",
      "\u{85}",
    ]
    for _ in 0..<20_000 {
      let text = random.text(of: pieces, upTo: 10)
      let address = try WebAddress("http://h/" + text)
      let name = FileName(for: address)
      let alternative = name.alternative(for: address)
      #expect(flaw(of: name) == nil, "\(text.debugDescription) gives \(name)")
      #expect(flaw(of: alternative) == nil, "\(text.debugDescription) gives \(alternative)")
      #expect(alternative != name, "\(text.debugDescription)")
    }
  }

  private func name(_ address: String) throws -> String {
    FileName(for: try WebAddress(address)).description
  }

  /// What makes a name unsafe.
  private func flaw(of name: FileName) -> String? {
    let name = name.description
    if name.isEmpty { return "It is empty" }
    if name.utf8.count > 255 { return "It is too long" }
    if [".", "..", ".batchwise"].contains(name) { return "It is a name with a meaning" }
    if name.utf8.contains(where: { $0 == 0x2f || $0 == 0x5c }) { return "It is no one component" }
    if name.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) { return "It holds a control byte" }
    if name.unicodeScalars.contains(where: \.isMisleading) { return "It misleads" }
    if let first = name.utf8.first, first == 0x2d || first == 0x2e { return "It begins badly" }
    if name.utf8.last == 0x2e || name.utf8.last == 0x20 { return "It ends badly" }
    return nil
  }
}
