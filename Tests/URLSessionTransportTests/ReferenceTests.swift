// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import Testing

@testable import URLSessionTransport

@Suite("An address for URLSession", .timeLimit(.minutes(1)))
struct ReferenceTests {
  @Test("leads on from another as the rules for references say")
  func resolve() {
    let base = "http://user:pass@h:81/a/b/c?q#f"
    let home = "http://user:pass@h:81"
    // The examples of RFC 3986, section 5.4, as far as they differ here.
    for (reference, target) in [
      ("d", "/a/b/d"), ("./d", "/a/b/d"), ("d/", "/a/b/d/"), ("/d", "/d"), ("?y", "/a/b/c?y"),
      ("d?y", "/a/b/d?y"), ("#s", "/a/b/c?q#s"), ("d#s", "/a/b/d#s"), (";x", "/a/b/;x"),
      ("", "/a/b/c?q"), (".", "/a/b/"), ("./", "/a/b/"), ("..", "/a/"), ("../", "/a/"),
      ("../d", "/a/d"), ("../..", "/"), ("../../d", "/d"), ("../../../d", "/d"), ("/./d", "/d"),
      ("/../d", "/d"), ("d.", "/a/b/d."), (".d", "/a/b/.d"), ("d..", "/a/b/d.."),
      ("./../d", "/a/d"), ("./d/.", "/a/b/d/"), ("d/./h", "/a/b/d/h"), ("d/../h", "/a/b/h"),
      ("d?y/./x", "/a/b/d?y/./x"), ("d#s/../x", "/a/b/d#s/../x"),
      ("/\u{e4} \u{f6}", "/%C3%A4%20%C3%B6"), ("/%41%zz%", "/%41%25zz%25"),
    ] { #expect(Address.resolve(reference, against: base) == home + target, "\(reference)") }
    #expect(Address.resolve("//g/x", against: base) == "http://g/x")
    #expect(Address.resolve("https://g/../x", against: base) == "https://g/../x")
    #expect(Address.resolve("ftp://g", against: base) == "ftp://g")
    #expect(Address.resolve("d", against: "http://h") == "http://h/d")
    for nowhere in ["http://[bad", "//", "http://", "https://u@/x", "//[::1"] {
      #expect(Address.resolve(nowhere, against: base) == nil)
    }
  }

  @Test("is percent-encoded behind its host, where URL would not take it")
  func carried() {
    for (text, address) in [
      ("http://h/a|b?c[]={d}#e", "http://h/a%7Cb?c%5B%5D=%7Bd%7D#e"),
      ("http://[::1]:8/[x]", "http://[::1]:8/%5Bx%5D"), ("http://h/%41%4", "http://h/%41%254"),
      ("http://b\u{fc}cher.example/a", "http://b\u{fc}cher.example/a"), ("http://h", "http://h"),
    ] { #expect(Address.carried(text) == address) }
  }
}
