// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseDownload

@Suite(.timeLimit(.minutes(1)))
struct OutputPathTests {
  @Test(
    "A name that a list gives is kept as it is, folders and all",
    arguments: [
      "a.png", "a/b/c.png", "...", "a..b/..c", ".hidden", "-rf", "~", "~root/x", "C:", "a b", " a ",
      "a.", "CON", "%2e%2e%2fevil", "a:b", "ü/ü.png", "例/👨\u{200D}👩.png", ".batchwise.d/x",
      "x/.batchwise", "batchwise/x", "\u{FF0F}etc", "a'b\"c*?<>|", "\u{301}", "a/\u{301}b",
      "index@2x.png",
    ])
  func kept(name: String) throws {
    #expect(Array(try OutputPath(listed: name).description.utf8) == Array(name.utf8))
  }

  @Test(
    "A name that would leave the folder, or that could not be used, is refused and never rewritten",
    arguments: [
      "", "/", "/etc/passwd", "//x", "..", "../x", "a/../b", "a/..", "../../x", ".", "./a", "a/.",
      "a/./b", "a//b", "a/", "a/b/", "\\", "..\\x", "a\\b", "C:\\x", "\\\\host\\share", "a\u{0}b",
      "a\nb", "a\rb", "a\tb", "\u{1B}[2J", "a\u{7F}", "a\u{85}b", "a\u{202E}gnp.exe", "a\u{2028}b",
      "../\u{301}", "a/..\u{0}/b",
    ])
  func refused(name: String) {
    let failure = #expect(throws: DownloadFailure.self) { try OutputPath(listed: name) }
    #expect(failure?.reason == .name)
    #expect(failure?.message.unicodeScalars.contains(where: \.isMisleading) == false)
    #expect(failure?.remedy == DownloadFailure.Remedy.none)
  }

  @Test(
    "The folder that the downloader keeps for itself is refused by any spelling of it",
    arguments: [
      ".batchwise", ".batchwise/x", ".Batchwise/journal.sqlite", ".BATCHWISE", ".batchwi\u{17F}e/x",
      ".batch\u{200C}wise/x", "\u{FEFF}.batchwise", ".batchwise./x", ".batchwise ./x",
      ".batch\u{AD}wise", ".batchw\u{131}se/x",
    ])
  func reserved(name: String) {
    let failure = #expect(throws: DownloadFailure.self) { try OutputPath(listed: name) }
    #expect(failure?.reason == .name)
    #expect(failure?.message.contains("kept") == true)
  }

  @Test("Accents are written in one way")
  func normalForm() throws {
    for (name, kept) in [
      ("u\u{308}/e\u{301}.png", "ü/é.png"), ("\u{1100}\u{1161}", "가"), ("\u{212B}", "Å"),
      ("a\u{327}\u{301}", "á\u{327}"),
    ] {
      #expect(Array(try OutputPath(listed: name).description.utf8) == Array(kept.utf8))
    }
  }

  @Test(
    "A part of 255 bytes is kept and a longer one refused, as is a path of more than 4000 bytes")
  func lengths() throws {
    let longest = String(repeating: "x", count: 255)
    let path = Array(repeating: longest, count: 15).joined(separator: "/")
    #expect(try OutputPath(listed: path).description == path)
    for name in [
      longest + "x", "a/\(longest)x/b", path + "/" + longest, String(repeating: "ü", count: 128),
      // As long as is allowed, until it is in the normal form.
      String(repeating: "\u{958}", count: 85),
    ] {
      let failure = #expect(throws: DownloadFailure.self) { try OutputPath(listed: name) }
      #expect(failure?.reason == .name)
      #expect(failure?.message.contains("more than 255 bytes") == (name.utf8.count < 4000))
    }
  }

  @Test(
    "The alternative lies in the same folder and bears a mark before the extension",
    arguments: [
      ("a.png", "a-", ".png"), ("x/y/a.tar.gz", "x/y/a-", ".tar.gz"), ("x.d/a", "x.d/a-", ""),
      ("x/.hidden", "x/.hidden-", ""), ("a/\u{301}b.c", "a/\u{301}b-", ".c"),
    ])
  func alternatives(name: String, start: String, ending: String) throws {
    let address = try WebAddress("http://h/1")
    let alternative = try OutputPath(listed: name).alternative(for: address)
    #expect(alternative.description.utf8.starts(with: start.utf8))
    #expect(alternative.description.hasSuffix(ending))
    #expect(try OutputPath(listed: alternative.description) == alternative)
    #expect(
      alternative != (try OutputPath(listed: name).alternative(for: WebAddress("http://h/2"))))
  }

  @Test("Whatever a list names, the path leads into the folder, and so does its alternative")
  func randomNames() throws {
    var random = SeededGenerator(seed: 21)
    let pieces = [
      "..", ".", "/", "/", "\\", "\u{0}", "a", "ü", "e\u{301}", "\u{301}", ".batchwise", ".BATCH",
      "WISE",
      "\u{200C}", "\u{202E}", " ", ".tar.gz", "😀", String(repeating: "b", count: 100), "\u{958}",
    ]
    var accepted = 0
    for _ in 0..<20_000 {
      let text = random.text(of: pieces, upTo: 6)
      guard let path = try? OutputPath(listed: text) else { continue }
      accepted += 1
      let alternative = path.alternative(for: try WebAddress("http://h/a"))
      #expect(text == path.description, "Only its normal form may differ")
      for path in [path, alternative] {
        // Taken apart in another way, and taken in once more.
        let parts = path.description.unicodeScalars.split(
          separator: "/", omittingEmptySubsequences: false)
        #expect(parts.allSatisfy { !$0.isEmpty && !["." as String, ".."].contains(String($0)) })
        #expect(parts.allSatisfy { String($0).utf8.count <= 255 })
        #expect(parts.first.map { String($0).lowercased() } != ".batchwise")
        #expect(!path.description.unicodeScalars.contains { $0.value < 0x20 || $0 == "\\" })
        #expect((path.folder.map { $0 + "/" } ?? "") + path.name == path.description)
        #expect(try OutputPath(listed: path.description).description == path.description)
      }
    }
    #expect(accepted > 2000)
  }

  // MARK: - CollisionKey

  @Test(
    "Paths that some file system takes for one have one key",
    arguments: [
      ("A.jpg", "a.JPG"), ("Ü", "ü"), ("U\u{308}", "ü"), ("u\u{308}/X", "Ü/x"), ("ß", "ẞ"),
      ("σ", "ς"), ("Σ", "ς"), ("ß", "SS"), ("\u{212A}", "k"), ("\u{17F}", "S"), ("Ǆ", "ǆ"),
      ("ǅ", "ǆ"),
      ("ΰ", "\u{3C5}\u{308}\u{301}"), ("\u{1E9B}\u{323}", "ṩ"),
      ("\u{345}\u{3B1}", "\u{3B9}\u{3B1}"),
      ("Ⱥ", "ⱥ"), ("ﬁ", "FI"), ("İ", "i\u{307}"),
    ])
  func sameKeys(one: String, other: String) {
    #expect(CollisionKey(one) == CollisionKey(other))
    #expect(CollisionKey("x/" + one + ".png") == CollisionKey("X/" + other + ".PNG"))
  }

  @Test("Other paths have other keys")
  func otherKeys() {
    let texts = [
      "", "a", "b", "ab", "a/b", "a-b", "á", "à", "ä", "ａ", "a ", "a.png", "[", "{", "@", "`",
    ]
    #expect(Set(texts.map { CollisionKey($0) }).count == texts.count)
    #expect(Set((0..<100_000).map { CollisionKey("\($0).png") }).count == 100_000)
  }

  @Test("Every letter has the key of its other case")
  func everyLetter() {
    for value in UInt32(0x20)...0x1_FFFF {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let key = CollisionKey(String(scalar))
      let cases = [scalar.properties.lowercaseMapping, scalar.properties.uppercaseMapping]
      let isSame = cases.allSatisfy { CollisionKey($0) == key }
      if !isSame { Issue.record("U+\(String(value, radix: 16)) \(cases)") }
    }
  }
}
