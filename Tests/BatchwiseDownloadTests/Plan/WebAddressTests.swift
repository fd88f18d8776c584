// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseDownload

@Suite(.timeLimit(.minutes(1)))
struct WebAddressTests {
  @Test(
    "What HTTP cannot carry is encoded, and everything else is kept byte for byte",
    arguments: [
      ("http://h/a b", "http://h/a%20b"),
      ("http://h/ü.png", "http://h/%C3%BC.png"),
      ("http://h/a\tb\u{7F}\u{0}", "http://h/a%09b%7F%00"),
      ("http://h/%EF%BB%BF%2F%20%2e", "http://h/%EF%BB%BF%2F%20%2e"),
      ("http://h/100%", "http://h/100%25"),
      ("http://h/%zz%4", "http://h/%25zz%254"),
      ("http://h/%%41%", "http://h/%25%41%25"),
      ("http://h/a?t=x+y/z==&u=%2B;v", "http://h/a?t=x+y/z==&u=%2B;v"),
      ("http://h/a\\b|c^d`{e}\"<f>[g]", "http://h/a\\b|c^d`{e}\"<f>[g]"),
      ("http://h/../a/./b//c", "http://h/../a/./b//c"),
      ("http://h/e\u{301}", "http://h/e%CC%81"),
      ("http://h/\u{301}", "http://h/%CC%81"),
      ("http://h/a\r\nb", "http://h/a%0D%0Ab"),
    ])
  func encoding(list: String, sent: String) throws {
    #expect(try WebAddress(list).absolute == sent)
  }

  @Test(
    "A fragment is never sent, and an address without a path asks for /",
    arguments: [
      ("http://h", "http://h/"), ("http://h#f", "http://h/"), ("http://h?q", "http://h/?q"),
      ("http://h/a#b?c", "http://h/a"), ("http://h/a?b#c#d", "http://h/a?b"),
      ("http://h/a#\u{301}b", "http://h/a"), ("http://h/#", "http://h/"),
    ])
  func fragments(list: String, sent: String) throws {
    #expect(try WebAddress(list).absolute == sent)
  }

  @Test(
    "Hosts and ports are kept as the list wrote them",
    arguments: [
      "http://bücher.example/", "https://EXAMPLE.com/", "http://h:1/", "http://h:65535/",
      "http://h:/", "http://h:080/", "http://127.0.0.1:8080/", "http://[::1]/",
      "http://[2001:db8::1]:8080/", "http://[::ffff:1.2.3.4]:/", "http://a_b.c-d/",
      "http://xn--bcher-kva.example/", "http://例え.jp/",
    ])
  func hosts(address: String) throws {
    #expect(try WebAddress(address).absolute == address)
    #expect(try WebAddress(address).redacted == address)
  }

  @Test("The scheme may be written in capitals")
  func schemeCase() throws {
    #expect(try WebAddress("HTTP://h/").absolute == "http://h/")
    #expect(try WebAddress("HttpS://h/").scheme == "https")
  }

  @Test(
    "What is no http or https address is refused as a bad URL",
    arguments: [
      "", "h", "h/a.png", "//h/a", "http", "http:", "http:/", "http:/x", "http:x", "http://",
      "http:///a", "http://?a", "http://#a", "http://:80/", "http://u@/", "http://u:p@:80/",
      "ftp://h/", "file:///etc/passwd", "data:,x", "javascript://h/", "gopher://h/", "ws://h/",
      "httpx://h/", "xhttp://h/", " http://h/", "http ://h/", "http:\u{301}//h/", "://h/",
      "http:\\\\h\\a", "http:/\u{301}/h/",
    ])
  func notHTTP(text: String) {
    #expect(reason(text) == .badURL)
  }

  @Test(
    "A host that no host can be is refused",
    arguments: [
      "http://ex%41mple/", "http://a b/", "http://a\tb/", "http://a\u{0}b/", "http://a\nb/",
      "http://a\\b/", "http://good\\@evil%2f/", "http://a<b/", "http://a\"b/", "http://a,b/",
      "http://a\u{202E}b/", "http://a\u{9B}b/", "http://a\u{A0}b/", "http://a\u{2028}b/",
      "http://a\u{3000}b/", "http://a\u{7F}b/", "http://[::1/", "http://[]/", "http://[:]x/",
      "http://[::1]x/", "http://[::1]x", "http://[::1]80/", "http://[::1%25lo]/", "http://[g::]/",
      "http://h]/", "http://a[b/", "http://a*b/",
    ])
  func badHosts(text: String) {
    #expect(reason(text) == .badURL)
  }

  @Test(
    "A port that is no number from 1 to 65535 is refused",
    arguments: [
      "0", "65536", "99999999999999999999", "-1", "+80", "8 0", "80x", "x", "80:80", "٨٠", ":", " ",
      "0x50",
    ])
  func badPorts(port: String) {
    #expect(reason("http://h:\(port)/") == .badURL)
    #expect(reason("http://[::1]:\(port)/") == .badURL)
  }

  @Test(
    "User name and password go to the transport and are never shown",
    arguments: [
      ("http://u:p@h/a", "http://u:p@h/a", "http://h/a"),
      ("https://u@h:8080/a?b", "https://u@h:8080/a?b", "https://h:8080/a?b"),
      ("http://@h/", "http://@h/", "http://h/"),
      ("http://:@h/", "http://:@h/", "http://h/"),
      ("http://u:p%40q@h/", "http://u:p%40q@h/", "http://h/"),
      // The last @ ends them; one before it is encoded, so that no other parser disagrees.
      ("http://u:p@q@h/", "http://u:p%40q@h/", "http://h/"),
      ("http://a.example\\@h/", "http://a.example%5C@h/", "http://h/"),
      ("http://u:p ü@h/", "http://u:p%20%C3%BC@h/", "http://h/"),
      ("http://u@\u{301}h/", "http://u@\u{301}h/", "http://\u{301}h/"),
      // An @ behind the authority is part of the path or the query.
      ("http://h/@a?b@c", "http://h/@a?b@c", "http://h/@a?b@c"),
      ("http://h?a@b", "http://h/?a@b", "http://h/?a@b"),
    ])
  func credentials(list: String, sent: String, shown: String) throws {
    let address = try WebAddress(list)
    #expect(address.absolute == sent)
    #expect(address.redacted == shown)
  }

  @Test(
    "A redirect carries user name and password within one origin and to no other",
    arguments: [
      ("http://u:p@h/a", "http://h/b", "http://u:p@h/b"),
      ("http://u:p@h/a", "http://u:p@H/b", "http://u:p@H/b"),
      ("http://u:p@h/a", "http://other/b", "http://other/b"),
      ("http://u:p@h/a", "http://u:p@other/b", "http://other/b"),
      ("http://u:p@h/a", "https://u:p@h/b", "https://h/b"),
      ("http://u:p@h/a", "http://u:p@h:8080/b", "http://h:8080/b"),
      ("http://h/a", "http://x:y@h/b", "http://h/b"),
    ])
  func redirects(from: String, target: String, asked: String) throws {
    #expect(try WebAddress(target).redirected(from: WebAddress(from)).absolute == asked)
  }

  @Test(
    "An origin is the same whichever way it is written, and another port or scheme is another",
    arguments: [
      (
        "http://h",
        ["HTTP://H/", "http://h:80/a", "http://h:/?x", "http://h:080", "http://u@h:00080/"]
      ),
      ("http://h:8080", ["http://h:08080/a", "http://me:x@H:8080#a"]),
      ("https://h", ["https://h:443", "https://h:0443/", "https://h:/"]),
      ("http://[::80]", ["http://[::80]:80/", "http://[::80]:/", "http://[::80]:080"]),
      ("http://[::80]:81", ["http://[::80]:081/", "http://[::80]:81/a:80"]),
      ("http://h:443", ["http://h:0443"]), ("https://h:80", ["https://h:080/"]),
    ])
  func origins(origin: String, spellings: [String]) throws {
    #expect(try WebAddress(origin).origin == origin)
    for spelling in spellings { #expect(try WebAddress(spelling).origin == origin) }
  }

  @Test(
    "The last segment of the path is what stands behind its last slash",
    arguments: [
      ("http://h", ""), ("http://h/", ""), ("http://h/a/", ""), ("http://h/a/b.c?d/e", "b.c"),
      ("http://h/a%2Fb", "a%2Fb"), ("http://h/a;b=c", "a;b=c"), ("http://h?x", ""),
    ])
  func lastSegments(list: String, segment: String) throws {
    #expect(try WebAddress(list).lastPathSegment == segment)
  }

  // MARK: - What is shown of texts that are no addresses

  @Test(
    "Nothing that stands before an @ is shown of a text that is no address",
    arguments: [
      "http//u:secret@h/", "ftp://u:secret@h/", "http://u:secret@@h h/", "u:secret@h",
      "http://u:se/secret@h:x/", "http://secret@\u{301}h h/", "secret@", "http://secret@h/@ ",
      "http://u:secret\u{202E}@h/", "http:\\\\u:secret@h\\",
    ])
  func redacting(text: String) {
    #expect(!WebAddress.redacting(text).contains("secret"))
  }

  @Test("What is shown fits a line and holds no character that misleads")
  func shownText() {
    let rest = String(repeating: "ü", count: 999)
    let shown = WebAddress.redacting("x\u{1B}[2J\r\n\u{0}\u{9B}\u{202E}\u{2028}" + rest)
    #expect(shown.unicodeScalars.allSatisfy { !$0.isMisleading })
    #expect(shown.unicodeScalars.count == 200)
    #expect(shown.hasPrefix("x\u{FFFD}[2J\u{FFFD}\u{FFFD}"))
  }

  @Test("Of random hostile texts nothing before an @ is shown, and what is sent is plain ASCII")
  func randomTexts() throws {
    var random = SeededGenerator(seed: 2)
    let pieces = [
      "http://", "https:", "@", "/", "\\", "SECRET", "h", ":", "80", "?", "#", "%", "%4", "%40",
      " ", "\u{301}", "\u{202E}", "\n", "[", "]", "::1", "\u{FF20}", "\u{FF0F}", "ü", ".", "\u{0}",
    ]
    var accepted = 0
    for _ in 0..<30_000 {
      let start = Bool.random(using: &random) ? "http://" : ""
      let text = start + random.text(of: pieces, upTo: 7)
      // Cut by bytes: an accent after an @ does not hide it.
      let behind = text.utf8.split(separator: 0x40, omittingEmptySubsequences: false).last ?? []
      let behindHasSecret = String(decoding: behind, as: UTF8.self).contains("SECRET")
      #expect(!WebAddress.redacting(text).contains("SECRET") || behindHasSecret)

      guard let address = try? WebAddress(text) else { continue }
      accepted += 1
      let target = address.redacted.utf8.dropFirst(8).drop { $0 != 0x2f }
      #expect(target.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != 0x23 })
      #expect(try WebAddress(address.absolute) == address, "Checked again, it is the same")
      #expect(try WebAddress(address.redacted).absolute == address.redacted)
    }
    #expect(accepted > 1000)
  }

  private func reason(_ text: String) -> DownloadFailure.Reason? {
    do throws(DownloadFailure) {
      _ = try WebAddress(text)
      return nil
    } catch {
      return error.reason
    }
  }
}
