// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import CurlTransport
import Testing

@Suite("An address", .timeLimit(.minutes(1)))
struct AddressTests {
  @Test("has one of two schemes or none")
  func scheme() {
    #expect(Address.scheme(of: "http://a/") == .http)
    #expect(Address.scheme(of: "HTTPS://a/") == .https)
    for url in ["", "http", "http:", "http:/", "https:a", "ftp://a", " http://a", "http://\0"] {
      #expect(Address.scheme(of: url) == nil)
    }
  }

  @Test("is named in messages by its host alone")
  func host() {
    #expect(Address.host(of: "http://example.org/a?b") == "example.org")
    #expect(Address.host(of: "http://user:pass@example.org:81/a@b") == "example.org:81")
    #expect(Address.host(of: "https://u:p@ss@[::1]:8080") == "[::1]:8080")
    #expect(Address.host(of: "http://host?u:secret@x") == "host")
    #expect(Address.host(of: "http://") == "the host")
    #expect(Address.host(of: "user:secret@host") == "the host")
  }

  @Test("leads on from another as the rules for references say")
  func resolve() {
    let base = "http://user:pass@h:81/a/b/c?q#f"
    #expect(Address.resolve("d", against: base) == "http://user:pass@h:81/a/b/d")
    #expect(Address.resolve("../d", against: base) == "http://user:pass@h:81/a/d")
    #expect(Address.resolve("?x=1", against: base) == "http://user:pass@h:81/a/b/c?x=1")
    #expect(Address.resolve("/ä ö", against: base) == "http://user:pass@h:81/%c3%a4%20%c3%b6")
    #expect(Address.resolve("//g/x", against: base) == "http://g/x")
    #expect(Address.resolve("https://g/x", against: base) == "https://g/x")
    #expect(Address.resolve("http://[bad", against: base) == nil)
  }
}
