// SPDX-License-Identifier: Apache-2.0

/// What the first bytes of a file show it to be.
///
/// Each kind's own rules are followed: of a picture's only the bytes that each file of the kind begins
/// with, of a web page what browsers take for one (the WHATWG's MIME Sniffing Standard).
struct Signature: Equatable {
  let type: MediaType
  /// The kind in words, for messages.
  let words: String

  private init(_ type: String, _ subtype: String, _ words: String) {
    self.type = MediaType(type: type, subtype: subtype)
    self.words = words
  }

  /// Finds out the kind, or returns nil if it is none that is known.
  init?(of bytes: UnsafeRawBufferPointer) {
    let found = Self.binary(bytes) ?? Self.markup(bytes)
    guard let found else { return nil }
    self = found
  }

  /// Whether a file of this kind may be of the other as well, as a document may be a ZIP archive.
  func mayBe(_ other: MediaType) -> Bool {
    switch type.subtype {
    case "zip", "gzip": other.type == "application" && !other.hasSureSignature
    case "xml": other.subtype.hasSuffix("+xml") || other.subtype == "xml" || other.subtype == "html"
    case "mp4": other.type == "video" || other.type == "audio"
    default: false
    }
  }

  // MARK: - Bytes

  private static func binary(_ bytes: UnsafeRawBufferPointer) -> Signature? {
    func has(_ text: StaticString, at offset: Int = 0) -> Bool {
      guard bytes.count >= offset + text.utf8CodeUnitCount else { return false }
      return text.withUTF8Buffer { bytes[offset...].starts(with: $0) }
    }
    func has(_ start: [UInt8]) -> Bool { bytes.starts(with: start) }

    switch bytes.first {
    case 0x89 where has([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]):
      return Signature("image", "png", "a PNG picture")
    case 0xff where has([0xff, 0xd8, 0xff]): return Signature("image", "jpeg", "a JPEG picture")
    case 0xff where has([0xff, 0x0a]): return jpegXL
    case 0x00 where has([0, 0, 0, 0x0c]) && has("JXL \r\n", at: 4): return jpegXL
    case 0x47 where has("GIF87a") || has("GIF89a"):
      return Signature("image", "gif", "a GIF picture")
    case 0x52 where has("RIFF") && has("WEBP", at: 8):
      return Signature("image", "webp", "a WebP picture")
    case 0x42 where has("BM") && isBitmap(bytes): return Signature("image", "bmp", "a BMP picture")
    case 0x49 where has([0x49, 0x49, 0x2a, 0]) || has([0x49, 0x49, 0x2b, 0]),
      0x4d where has([0x4d, 0x4d, 0, 0x2a]) || has([0x4d, 0x4d, 0, 0x2b]):
      return Signature("image", "tiff", "a TIFF picture")
    case 0x00 where isIcon(bytes): return Signature("image", "vnd.microsoft.icon", "an icon")
    case 0x50
    where has([0x50, 0x4b, 3, 4]) || has([0x50, 0x4b, 5, 6]) || has([0x50, 0x4b, 7, 8]):
      return Signature("application", "zip", "a ZIP archive")
    case 0x1f where has([0x1f, 0x8b, 8]): return Signature("application", "gzip", "a gzip file")
    case 0x25 where has("%PDF-"): return Signature("application", "pdf", "a PDF document")
    case 0x49 where has("ID3"), 0xff where isMP3Frame(bytes):
      return Signature("audio", "mpeg", "an MP3 file")
    default: return has("ftyp", at: 4) ? isoMedia(bytes) : nil
    }
  }

  private static let jpegXL = Signature("image", "jxl", "a JPEG XL picture")

  /// The length of the second header tells a bitmap from a text that begins with "BM".
  private static func isBitmap(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count >= 18, bytes[15...17].allSatisfy({ $0 == 0 }) else { return false }
    return [12, 16, 40, 52, 56, 64, 108, 124].contains(bytes[14])
  }

  /// A directory of at least one picture, whose first entry has its reserved byte and its planes as they
  /// have to be.
  private static func isIcon(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.count >= 22 && bytes.starts(with: [0, 0, 1, 0]) && (bytes[4] != 0 || bytes[5] != 0)
      && bytes[9] == 0 && bytes[10] <= 1 && bytes[11] == 0
  }

  /// The header of a frame of layer III without what no header holds: a rate that is reserved.
  private static func isMP3Frame(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.count >= 4 && bytes[0] == 0xff && bytes[1] & 0xe6 == 0xe2 && bytes[1] & 0x18 != 0x08
      && bytes[2] & 0xf0 != 0xf0 && bytes[2] & 0xf0 != 0 && bytes[2] & 0x0c != 0x0c
  }

  /// A file of boxes (ISO 14496-12), whose first one names the kinds that it is compatible with.
  private static func isoMedia(_ bytes: UnsafeRawBufferPointer) -> Signature {
    let length = bytes[..<4].reduce(0) { $0 << 8 | Int($1) }
    // The major brand, then its version, then the compatible brands.
    let brands = stride(from: 8, to: min(length, bytes.count) - 3, by: 4).compactMap { start in
      start == 12 ? nil : String(decoding: bytes[start..<(start + 4)], as: UTF8.self)
    }
    if brands.contains(where: ["avif", "avis"].contains) {
      return Signature("image", "avif", "an AVIF picture")
    }
    let pictures = ["heic", "heix", "hevc", "hevx", "heim", "heis", "mif1", "msf1"]
    if brands.contains(where: pictures.contains) {
      return Signature("image", "heic", "a HEIC picture")
    }
    return Signature("video", "mp4", "an MP4 file")
  }

  // MARK: - Markup

  private static let svg = Signature("image", "svg+xml", "an SVG picture")
  private static let html = Signature("text", "html", "a web page")
  private static let xml = Signature("application", "xml", "an XML document")

  /// Tells a web page, an SVG picture and other XML apart by the first element, and by what may stand
  /// before it.
  private static func markup(_ bytes: UnsafeRawBufferPointer) -> Signature? {
    var rest = bytes[...].starts(with: [0xef, 0xbb, 0xbf]) ? bytes[3...] : bytes[...]
    // What there is so far may begin an XML document, and does for sure.
    var (mayBeXML, isXML) = (false, false)
    func skip(to end: String) {
      while !rest.isEmpty, !rest.starts(with: end.utf8) { rest = rest.dropFirst() }
      rest = rest.dropFirst(end.utf8.count)
      mayBeXML = true
    }
    while true {
      rest = rest.drop(while: \.isWhiteSpace)
      guard rest.first == UInt8(ascii: "<") else { return mayBeXML ? xml : nil }
      let start = String(decoding: rest.prefix(16), as: UTF8.self).lowercased()
      if start.hasPrefix("<!--") {
        skip(to: "-->")
      } else if start.hasPrefix("<?") {
        isXML = isXML || start.hasPrefix("<?xml")
        skip(to: "?>")
      } else if start.hasPrefix("<!doctype svg") {
        return svg
      } else if start.hasPrefix("<!doctype html") {
        return html
      } else if start.hasPrefix("<!doctype") {
        return xml
      } else {
        // A prefix, as in <svg:svg, is no part of the element's name.
        let name = start.dropFirst().prefix { $0.isLetter || $0.isNumber || $0 == ":" }
        switch name.split(separator: ":").last.map(String.init) ?? "" {
        case "svg": return svg
        case "html": return html
        case let element: return isXML ? xml : pageElements.contains(element) ? html : nil
        }
      }
    }
  }

  /// The elements of which a browser takes a page that begins with one for a web page.
  private static let pageElements: Set<String> = [
    "head", "body", "script", "iframe", "h1", "div", "font", "table", "a", "style", "title",
    "b", "br", "p", "meta", "link", "center",
  ]
}
