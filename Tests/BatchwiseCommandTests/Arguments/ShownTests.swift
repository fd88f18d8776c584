// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import BatchwiseCommand

@Suite("A value as a message shows it", .timeLimit(.minutes(1)))
struct ShownTests {
  @Test(
    "Passwords are cut, and so is what a terminal would obey",
    arguments: [
      ("plain.txt", "plain.txt"), ("", "''"), ("http://me:secret@host/a", "http://host/a"),
      ("http://me:se@cret@host/a", "http://host/a"),
      ("--foo=http://me:s@host", "--foo=http://host"),
      ("me@home.txt", "me@home.txt"), ("http://host", "http://host"), ("a@b://c", "a@b://c"),
      ("\u{1b}[31mred\n", "\u{FFFD}[31mred\u{FFFD}"), ("a\u{202E}b", "a\u{FFFD}b"),
      ("\u{9b}31m", "\u{FFFD}31m"),
    ])
  func shows(value: String, text: String) {
    #expect(shown(value) == text)
  }

  @Test("A long value is cut, and says so")
  func long() {
    #expect(shown(String(repeating: "x", count: 100_000)).count == 1001)
    #expect(shown(String(repeating: "x", count: 1001)).hasSuffix("…"))
    #expect(!shown(String(repeating: "x", count: 1000)).hasSuffix("…"))
  }
}
