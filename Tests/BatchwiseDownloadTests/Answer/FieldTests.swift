// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import Testing

@Suite("A head's fields", .timeLimit(.minutes(1)))
struct FieldTests {
  private func head(_ fields: String..., status: Int = 200) -> ResponseHead? {
    var reader = HeadReader()
    for line in ["HTTP/1.1 \(status) Some Words"] + fields + [""] {
      let step = Array("\(line)\r\n".utf8).withUnsafeBytes { reader.read(line: $0) }
      if case .head(let head) = step { return head }
    }
    return nil
  }

  @Test("tell the media type without its parameters, in lower case")
  func mediaType() {
    for (value, type) in [
      ("image/PNG", "image/png"), ("text/html; charset=utf-8", "text/html"),
      ("text/html ;charset=x", "text/html"), ("a/b, c/d", "a/b"),
      ("image/svg+xml", "image/svg+xml"),
      ("", nil), ("image", nil), ("/", nil), ("a/", nil), ("/b", nil), ("a/b/c", nil),
      ("a b/c", nil), ("im\u{e4}ge/png", nil), (String(repeating: "a", count: 300) + "/b", nil),
    ] as [(String, String?)] { #expect(head("Content-Type: \(value)")?.mediaType == type) }
    #expect(head("content-type: a/b", "Content-Type: c/d")?.mediaType == "a/b")
  }

  @Test("tell the validators as they are written")
  func validators() {
    #expect(head("ETag: \"a b\"")?.entityTag == "\"a b\"")
    #expect(head("etag:W/\"x\" ", "ETag: \"y\"")?.entityTag == "W/\"x\"")
    #expect(head("ETag: ")?.entityTag == nil)
    #expect(head("ETag: \"\u{e4}\"")?.entityTag == nil)
    #expect(head("ETag: \"\(String(repeating: "e", count: 2000))\"")?.entityTag == nil)
    let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    #expect(head("Last-Modified: \(date)", "Last-Modified: later")?.lastModified == date)
  }

  @Test("tell the age of a file by the server's own clock, if both dates are told")
  func age() {
    let modified = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"
    #expect(head("Date: Sun, 06 Nov 1994 08:50:37 GMT", modified)?.age == 60)
    #expect(head(modified, "Date: Sunday, 06-Nov-94 08:49:38 GMT")?.age == 1)
    #expect(head(modified, "Date: Sun Nov  6 08:49:36 1994")?.age == -1)
    #expect(head("Date: Tue, 29 Feb 2000 00:00:00 GMT", modified)?.age == 167_670_623)
    #expect(head("Date: Sun, 6 Nov 1994 08:50:37 GMT", modified)?.age == 60)
    #expect(head("Date: Sunday, 06-Nov-94 08:49:38", modified)?.age == 1)
    #expect(head("Date: Saturday, 07-Nov-26 08:49:37 GMT", modified)?.age == 1_009_929_600)
    #expect(head(modified)?.age == nil)
    #expect(head(modified, "Date: yesterday")?.age == nil)
    for bad in [
      "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Nox 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:4x:37 GMT",
      "Sun, 06 Nov 1994 08:49:37 PST", "Sun, 06 Nov 1994 08:49 GMT", "06 Nov 1969 08:49:37 GMT",
      "Sun Nov 6 7 08:49:36 1994", "Nov", "1994", "08:49:37", "- - -", "",
    ] { #expect(head(modified, "Date: \(bad)")?.age == nil) }
  }

  @Test("tell which part of a file an answer brings, and nothing that is not written so")
  func contentRange() {
    for (value, range) in [
      ("bytes 0-99/1000", ContentRange(bytes: 0..<100, total: 1000)),
      ("BYTES 5-5/6", ContentRange(bytes: 5..<6, total: 6)),
      ("bytes 7-8/*", ContentRange(bytes: 7..<9, total: nil)),
      ("bytes */1000", ContentRange(bytes: nil, total: 1000)),
      ("bytes 0-9223372036854775806/*", ContentRange(bytes: 0..<Int64.max, total: nil)),
      ("bytes */*", nil), ("bytes 9-8/10", nil), ("bytes 0-10/10", nil), ("bytes 0-/10", nil),
      ("bytes -5/10", nil), ("bytes=0-9/10", nil), ("bytes 0-9", nil), ("items 0-9/10", nil),
      ("bytes 0-9/10x", nil), ("bytes  0-9/10", nil), ("bytes 0 - 9/10", nil), ("", nil),
      ("bytes 0-9223372036854775807/*", nil), ("bytes 0-99999999999999999999/*", nil),
      ("bytes +0-9/10", nil), ("bytes 0-9/-10", nil), ("bytes 0-1-2/10", nil),
    ] as [(String, ContentRange?)] {
      #expect(head("Content-Range: \(value)", status: 206)?.contentRange == range, "\(value)")
    }
    let twice = head("Content-Range: bytes 0-9/10", "Content-Range: bytes 0-9/10")
    #expect(twice?.contentRange == nil, "two of them are none, be they equal")
  }

  @Test("tell how long a server asks to be left alone, in both forms")
  func retryAfter() {
    let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT"
    let year = Duration.seconds(366 * 86_400)
    for (value, time) in [
      ("120", .seconds(120)), ("0", .zero), ("007", .seconds(7)), ("1000000000", year),
      ("99999999999999999999999", year),
      ("Sun, 06 Nov 1994 08:50:37 GMT", .seconds(60)),
      ("Sunday, 06-Nov-94 08:50:37 GMT", .seconds(60)), ("Sun Nov  6 08:50:37 1994", .seconds(60)),
      ("Sun, 06 Nov 1994 08:00:00 GMT", .zero), ("Fri, 31 Dec 9999 23:59:59 GMT", year),
      ("", nil), ("soon", nil), ("-5", nil), ("1.5", nil), ("5 minutes", nil), ("1e9", nil),
    ] as [(String, Duration?)] {
      for status in [302, 429, 503] {
        #expect(head("Retry-After: \(value)", date, status: status)?.retryAfter == time, "\(value)")
      }
    }
    #expect(head("Retry-After: 5", "Retry-After: 9", status: 503)?.retryAfter == .seconds(5))
    let noDate = head("Retry-After: Sun, 06 Nov 1994 08:50:37 GMT", status: 503)
    #expect(noDate?.retryAfter == .zero, "without a date of the server's, by the clock on the wall")
  }

  @Test("of an interim answer are none of the final one's")
  func interim() {
    let last = head(
      "ETag: \"early\"", "Content-Type: a/b", "Retry-After: 3", "", "HTTP/1.1 200 OK", status: 103)
    #expect(last == ResponseHead(status: 200, framing: .untilClose))
  }

  @Test("of frames have no chunks")
  func frames() {
    var reader = HeadReader()
    var last: HeadReader.Step?
    for line in ["HTTP/2 200 ", "transfer-encoding: chunked", "content-length: 3", ""] {
      last = Array("\(line)\r\n".utf8).withUnsafeBytes { reader.read(line: $0) }
    }
    #expect(reader.isFramed)
    #expect(last == .head(ResponseHead(status: 200, framing: .length(3))))
  }
}
