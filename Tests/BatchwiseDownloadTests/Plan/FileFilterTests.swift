// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import BatchwiseDownload

@Suite(.timeLimit(.minutes(1)))
struct FileFilterTests {
  // MARK: - Size

  @Test("Sizes are judged by what is announced, while a file grows, and at its end")
  func sizes() {
    let filter = FileFilter(largest: 100, smallest: 10)
    let none: DownloadFailure.Reason? = nil
    for (length, reason) in [
      (9, .tooSmall), (10, none), (100, none), (101, .tooLarge), (0, .tooSmall),
    ] as [(Int64, DownloadFailure.Reason?)] {
      #expect(filter.failure(length: length, mediaType: nil)?.reason == reason)
      #expect(filter.failure(wholeLength: length)?.reason == reason)
      #expect(filter.failure(received: length)?.reason == (length > 100 ? .tooLarge : nil))
    }
    #expect(filter.failure(length: nil, mediaType: nil) == nil)
  }

  @Test("A message about a size says what came and what was wanted")
  func sizeMessages() {
    let filter = FileFilter(largest: 100, smallest: 10)
    for failure in [
      filter.failure(length: 1234, mediaType: nil), filter.failure(wholeLength: 1234),
    ] {
      #expect(failure?.message.contains("1234") == true)
      #expect(failure?.message.contains("at most 100") == true)
    }
    #expect(filter.failure(wholeLength: 3)?.message.contains("at least 10") == true)
    #expect(filter.failure(received: 1234)?.message.contains("100") == true)
  }

  @Test("Without wishes every file is wanted, an empty one too")
  func noWishes() {
    let filter = FileFilter()
    #expect(!filter.needsFirstBytes)
    #expect(filter.failure(length: 0, mediaType: "text/html") == nil)
    #expect(filter.failure(wholeLength: 0) == nil)
    #expect(filter.failure(received: .max) == nil)
    #expect(first([], "image/png", filter) == nil)
  }

  // MARK: - Wishes

  @Test(
    "A wanted kind is image, a media type, or all types with one first half",
    arguments: [
      ("image", "image/*"), ("IMAGE", "image/*"), ("image/*", "image/*"),
      ("image/png", "image/png"),
      ("Image/JPG", "image/jpeg"), ("image/x-icon", "image/vnd.microsoft.icon"),
      ("application/ld+json", "application/ld+json"), ("video/*", "video/*"),
    ])
  func kinds(text: String, kind: String) {
    #expect(WantedKind(text)?.description == kind)
  }

  @Test(
    "Other texts are no kind",
    arguments: [
      "", "png", "video", "image/", "/png", "*/*", "*", "image/png/x", "image/p*", "a b/c",
      "image /png",
      "image/png;q=1", "ü/x", "image/*x",
    ])
  func noKinds(text: String) {
    #expect(WantedKind(text) == nil)
  }

  // MARK: - The head

  @Test(
    "By the head a file is refused when its server calls it something else",
    arguments: [
      ("image", "image/png", true), ("image", "IMAGE/PNG", true), ("image", "text/html", false),
      ("image", "application/json", false), ("image", "text/plain", false), ("image", nil, true),
      ("image", "application/octet-stream", true), ("image", "binary/octet-stream", true),
      ("image", "nonsense", true), ("image", "", true), ("image/png", "image/jpeg", false),
      ("image/jpeg", "image/jpg", true), ("image/jpeg", "image/pjpeg", true),
      ("application/xml", "text/xml", true), ("video/*", "video/webm", true),
      ("video/*", "image/png", false),
      ("application/octet-stream", "application/octet-stream", true),
    ] as [(String, String?, Bool)])
  func heads(kind: String, mediaType: String?, isWanted: Bool) throws {
    let failure = try filter(kind).failure(length: nil, mediaType: mediaType)
    #expect((failure == nil) == isWanted)
    if let failure {
      #expect(failure.reason == .wrongType)
      #expect(failure.message.contains(mediaType?.lowercased() ?? "-"))
      #expect(failure.message.contains(try filter(kind).kind?.description ?? "-"))
    }
  }

  // MARK: - The first bytes

  @Test("Each picture is one, by its bytes alone and with its own type", arguments: pictures)
  func everyPicture(type: String, bytes: [UInt8]) throws {
    let image = try filter("image")
    for mediaType in [nil, "application/octet-stream", type] {
      #expect(first(bytes, mediaType, image) == nil)
      #expect(first(bytes + [UInt8](repeating: 0x20, count: 480), mediaType, image) == nil)
      #expect(first(bytes, mediaType, try filter(type)) == nil)
    }
    // Another picture is none of this type.
    let other = type == "image/png" ? "image/gif" : "image/png"
    for mediaType in [nil, other] {
      let failure = first(bytes, mediaType, try filter(other))
      #expect(failure?.reason == .wrongType)
      #expect(failure?.message.contains("wanted was \(other)") == true)
    }
    #expect(first(bytes, "image/x-what", image) == nil, "A picture under another picture's name")
  }

  @Test("What is no picture is none, whatever its server says", arguments: others)
  func noPicture(type: String, bytes: [UInt8]) throws {
    let image = try filter("image")
    for mediaType in [nil, "application/octet-stream", "image/png", "image/x-what"] {
      #expect(first(bytes, mediaType, image)?.reason == .wrongType, "\(mediaType ?? "-")")
    }
    #expect(first(bytes, type, try filter(type)) == nil)
    #expect(first(bytes, nil, try filter(type)) == nil)
  }

  @Test(
    "A web page under a picture's name is a failure that says so",
    arguments: [
      "<!DOCTYPE html><html>", "<html>", "\n\n  <HTML lang=en>", "\u{FEFF}<!doctype HTML>",
      "<!-- a comment --><html>", "<head><title>", "<body>", "<script>", "<title>x", "<h1>404</h1>",
      "<?xml version=\"1.0\"?><!DOCTYPE html PUBLIC \"x\">", "<!-- <svg> --><p>", "<div class=x>",
    ])
  func webPages(text: String) throws {
    let image = try filter("image")
    for mediaType in [nil, "application/octet-stream", "image/png", "image/svg+xml"] {
      let failure = first(Array(text.utf8), mediaType, image)
      #expect(failure?.reason == .wrongType)
      #expect(failure?.message.contains("a web page") == true)
    }
    #expect(first(Array(text.utf8), "text/html", try filter("text/html")) == nil)
  }

  @Test(
    "An SVG picture is found behind all that may stand before it",
    arguments: [
      "<svg>", "<svg xmlns=x>", "<?xml version=\"1.0\"?>\n<svg>",
      "\u{FEFF}<?xml?><!-- <html> -->\n<svg ",
      "<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\">", "<svg:svg xmlns:svg=x>", "<SVG>",
      "<?xml?><?xml-stylesheet href=x?><svg/>",
    ])
  func svg(text: String) throws {
    #expect(first(Array(text.utf8), nil, try filter("image")) == nil)
    #expect(first(Array(text.utf8), "image/svg+xml", try filter("image/svg+xml")) == nil)
    #expect(first(Array(text.utf8), "text/html", try filter("text/html"))?.reason == .wrongType)
  }

  @Test("An SVG picture whose beginning tells nothing is believed its server, and nobody else")
  func longSVG() throws {
    let start = Array(
      "<?xml version=\"1.0\"?><!-- \(String(repeating: "x", count: 600)) --><svg>".utf8)
    let image = try filter("image")
    #expect(first(Array(start.prefix(512)), "image/svg+xml", image) == nil)
    #expect(first(Array(start.prefix(512)), "image/png", image)?.reason == .wrongType)
    #expect(first(Array(start.prefix(512)), nil, image)?.reason == .wrongType)
  }

  @Test(
    "Bytes of no known kind are a picture only if their server names one that is not known either")
  func unknownBytes() throws {
    let image = try filter("image")
    let bytes = Array("8BPS".utf8) + [0, 1, 2, 3]
    #expect(first(bytes, "image/vnd.adobe.photoshop", image) == nil)
    for mediaType in [nil, "application/octet-stream", "image/png", "image/jpeg", "image/webp"] {
      #expect(first(bytes, mediaType, image)?.reason == .wrongType, "\(mediaType ?? "-")")
    }
    #expect(first(Array("a,b\n1,2\n".utf8), "text/csv", try filter("text/csv")) == nil)
    #expect(first(Array("a,b\n1,2\n".utf8), nil, try filter("text/csv"))?.reason == .wrongType)
  }

  @Test(
    "An empty file is no picture", arguments: [nil, "image/png", "image/svg+xml", "image/x-what"])
  func emptyFile(mediaType: String?) throws {
    let failure = first([], mediaType, try filter("image"))
    #expect(failure?.reason == .wrongType)
    #expect(failure?.message.contains("empty") == true)
    #expect(first([], "text/plain", try filter("text/plain")) == nil)
  }

  @Test(
    "A file in a container is what its server says, if that may be in one",
    arguments: [
      ("application/vnd.oasis.opendocument.text", "PK\u{3}\u{4}", true),
      ("application/java-archive", "PK\u{3}\u{4}", true), ("image/png", "PK\u{3}\u{4}", false),
      ("application/rss+xml", "<?xml?><rss>", true), ("application/pdf", "%PDF-1.7", true),
      ("application/gzip", "PK\u{3}\u{4}", false), ("application/json", "<html>", false),
      ("application/octet-stream", "PK\u{3}\u{4}", true),
    ])
  func containers(type: String, start: String, isWanted: Bool) throws {
    let failure = first(Array(start.utf8), type, try filter(type))
    #expect((failure == nil) == isWanted)
  }

  @Test(
    "Bytes that only resemble a kind are none of it",
    arguments: [
      "BMW is a car, and this is text", "GIF88a", "RIFFxxxxWAVE", "\u{89}PNG", "II*", "MM", "%PDF",
      "PK",
      "JXL ", "ftyp", "<", "<x", "<!", "<!--", "<?", "ID", "{\"a\":1}", "\u{0}\u{0}\u{1}\u{0}",
      "<article>", "< html>", "x<html>",
    ])
  func resemblances(text: String) throws {
    #expect(signature(Array(text.utf8))?.type.type != "image")
    #expect(first(Array(text.utf8), nil, try filter("image"))?.reason == .wrongType)
  }

  @Test("Whatever the first bytes are, they are judged, and a part of a signature is none")
  func randomBytes() throws {
    var random = SeededGenerator(seed: 31)
    let image = try filter("image")
    let starts = pictures.map(\.1) + others.map(\.1)
    for _ in 0..<20_000 {
      var bytes = starts.randomElement(using: &random) ?? []
      bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
      for _ in 0..<Int.random(in: 0...8, using: &random) {
        bytes.append(UInt8.random(in: 0...255, using: &random))
      }
      let failure = first(bytes, nil, image)
      #expect((failure == nil) == (signature(bytes)?.type.type == "image"))
    }
    for (_, bytes) in pictures where bytes.first != UInt8(ascii: "<") {
      #expect(signature(Array(bytes.prefix(2))) == nil || bytes[1] == 0x0a)
    }
  }

  // MARK: -

  private func filter(_ kind: String) throws -> FileFilter {
    let wanted: WantedKind = try #require(WantedKind(kind))
    return FileFilter(kind: wanted)
  }

  private func first(_ bytes: [UInt8], _ mediaType: String?, _ filter: FileFilter)
    -> DownloadFailure?
  {
    bytes.withUnsafeBytes { filter.failure(firstBytes: $0, mediaType: mediaType) }
  }

  private func signature(_ bytes: [UInt8]) -> Signature? {
    bytes.withUnsafeBytes { Signature(of: $0) }
  }
}

/// The media types of pictures, and how a file of each begins.
private let pictures: [(String, [UInt8])] = [
  ("image/png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]),
  ("image/jpeg", [0xff, 0xd8, 0xff, 0xe0]), ("image/jpeg", [0xff, 0xd8, 0xff, 0xdb]),
  ("image/gif", Array("GIF87a".utf8)), ("image/gif", Array("GIF89a".utf8)),
  ("image/webp", Array("RIFF\u{1}\u{0}\u{0}\u{0}WEBPVP8 ".utf8)),
  ("image/bmp", [0x42, 0x4d, 0x46, 0, 0, 0, 0, 0, 0, 0, 0x36, 0, 0, 0, 40, 0, 0, 0]),
  ("image/tiff", [0x49, 0x49, 0x2a, 0, 8, 0, 0, 0]), ("image/tiff", [0x4d, 0x4d, 0, 0x2a]),
  ("image/avif", [0, 0, 0, 0x1c] + Array("ftypavif".utf8) + [0, 0, 0, 0]),
  ("image/avif", [0, 0, 0, 0x1c] + Array("ftypmif1\u{0}\u{0}\u{0}\u{0}mif1avif".utf8)),
  ("image/heic", [0, 0, 0, 0x18] + Array("ftypheic\u{0}\u{0}\u{0}\u{0}mif1".utf8)),
  ("image/heic", [0, 0, 0, 0x14] + Array("ftypmif1\u{0}\u{0}\u{0}\u{0}".utf8)),
  (
    "image/vnd.microsoft.icon",
    [0, 0, 1, 0, 1, 0, 16, 16, 0, 0, 1, 0, 32, 0, 0x68, 4, 0, 0, 22, 0, 0, 0]
  ),
  ("image/jxl", [0xff, 0x0a]), ("image/jxl", [0, 0, 0, 0x0c] + Array("JXL \r\n\u{87}\n".utf8)),
  ("image/svg+xml", Array("<svg xmlns=\"http://www.w3.org/2000/svg\">".utf8)),
]

/// The media types of other files, and how a file of each begins.
private let others: [(String, [UInt8])] = [
  ("application/pdf", Array("%PDF-1.4\n".utf8)), ("application/zip", Array("PK\u{3}\u{4}".utf8)),
  ("application/zip", Array("PK\u{5}\u{6}".utf8)), ("application/gzip", [0x1f, 0x8b, 8, 0]),
  ("video/mp4", [0, 0, 0, 0x18] + Array("ftypisom\u{0}\u{0}\u{2}\u{0}isommp42".utf8)),
  ("audio/mpeg", Array("ID3\u{3}\u{0}".utf8)), ("audio/mpeg", [0xff, 0xfb, 0x90, 0x64]),
  ("text/html", Array("<!DOCTYPE html>".utf8)),
  ("application/xml", Array("<?xml version=\"1.0\"?><a>".utf8)),
]
