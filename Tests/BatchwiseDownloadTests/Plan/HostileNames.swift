// SPDX-License-Identifier: Apache-2.0

/// Last segments of paths that have led downloaders astray, and the safe name of each.
///
/// Kept for good: whoever changes the rules for names has to look at every one of them.
let hostileNames: [(segment: String, name: String)] = [
  // Ways up and out.
  ("..", "index"),
  (".", "index"),
  ("...", "index"),
  ("%2e%2e", "index"),
  ("%2E.", "index"),
  ("..%2f..%2fetc%2fpasswd", "_._.._etc_passwd"),
  ("%2e%2e%2fevil", "_._evil"),
  ("..\\..\\evil", "_._.._evil"),
  ("..%5C..%5Cevil", "_._.._evil"),
  ("%252e%252e%252fevil", "%2e%2e%2fevil"),
  ("..%c0%afevil", "_.%c0%afevil"),
  ("%c0%ae%c0%ae", "%c0%ae%c0%ae"),
  ("..%EF%BC%8Fevil", "_.\u{FF0F}evil"),
  ("%E2%80%A6%2f", "\u{2026}_"),
  ("a%2f..%2fb", "a_.._b"),
  // Absolute paths and drives.
  ("%2fetc%2fpasswd", "_etc_passwd"),
  ("%2f", "_"),
  ("C:%5CWindows", "C:_Windows"),
  ("C:\\Windows\\evil.exe", "C:_Windows_evil.exe"),
  ("%5C%5Chost%5Cshare", "__host_share"),
  ("~", "~"),
  ("~root", "~root"),
  // What ends a text too early, or begins another line.
  ("a%00.png", "a_.png"),
  ("%00", "_"),
  ("a%0d%0ab", "a__b"),
  ("a%0Ab.png%0A", "a_b.png_"),
  ("a%7Fb", "a_b"),
  ("%1B%5B2Ja", "_[2Ja"),
  ("a%C2%9Bb", "a_b"),
  ("a%E2%80%A8b", "a_b"),
  ("a%C2%85b", "a_b"),
  // What turns the direction of writing.
  ("photo%E2%80%AEgnp.exe", "photo_gnp.exe"),
  ("a%E2%81%A6b%E2%81%A9", "a_b_"),
  ("a%E2%80%8Fb", "a_b"),
  // Dots and white space at the ends, and hidden files.
  ("a.", "a"),
  ("a.%20.%20", "a"),
  ("%20a%20", "a"),
  ("%C2%A0a%E3%80%80", "a"),
  ("%20%20", "index"),
  (".bashrc", "_bashrc"),
  ("%20.bashrc", "_bashrc"),
  (".batchwise", "_batchwise"),
  ("%2Ebatchwise", "_batchwise"),
  (".batchwise%2fpartial-1", "_batchwise_partial-1"),
  // What a command would take for an option.
  ("-rf", "_rf"),
  ("--output=x", "_-output=x"),
  ("%2D", "_"),
  ("%20-rf", "_rf"),
  // Escapes that are none.
  ("%", "%"),
  ("%+f", "%+f"),
  ("%g1", "%g1"),
  ("%4", "%4"),
  ("100%25.png", "100%.png"),
  ("%ff%fe.png", "%ff%fe.png"),
  ("a+b.png", "a+b.png"),
  // Nothing.
  ("", "index"),
]
