// SPDX-License-Identifier: Apache-2.0

/// A media type without parameters (RFC 9110, section 8.3.1), in lower case.
struct MediaType: Sendable, Hashable, CustomStringConvertible {
  let type: String
  let subtype: String

  var description: String { "\(type)/\(subtype)" }

  init(type: String, subtype: String) {
    self.type = type
    self.subtype = subtype
  }

  /// Takes a media type as a server names it, by the usual one of several names for a kind; nil if it
  /// is none.
  init?(named text: String?) {
    guard let text else { return nil }
    let lower = text.lowercased()
    let parts = lower.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, Self.isToken(parts[0]), Self.isToken(parts[1]) else { return nil }
    self = MediaType(type: String(parts[0]), subtype: String(parts[1])).usual
  }

  /// The usual one of several names for the same kind.
  var usual: MediaType {
    guard let other = Self.otherNames[description] else { return self }
    return MediaType(type: other.type, subtype: other.subtype)
  }

  /// Whether it says no more than that there are bytes.
  var isUnspecific: Bool { Self.unspecific.contains(description) }

  /// Whether each file of this kind begins with bytes that ``Signature`` knows.
  var hasSureSignature: Bool { Self.sure.contains(description) }

  /// Whether the text can be one half of a media type.
  static func isToken(_ text: Substring) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "!#$&-^_.+".utf8.contains(byte)
        }
      }
  }

  private static let unspecific: Set<String> = [
    "application/octet-stream", "binary/octet-stream", "application/binary",
    "application/x-binary", "application/force-download", "application/download",
    "application/unknown",
  ]

  private static let sure: Set<String> = [
    "image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/tiff",
    "image/avif", "image/heic", "image/vnd.microsoft.icon", "image/jxl", "application/gzip",
  ]

  private static let otherNames: [String: (type: String, subtype: String)] = [
    "image/jpg": ("image", "jpeg"), "image/pjpeg": ("image", "jpeg"),
    "image/x-png": ("image", "png"), "image/apng": ("image", "png"),
    "image/vnd.mozilla.apng": ("image", "png"),
    "image/x-bmp": ("image", "bmp"), "image/x-ms-bmp": ("image", "bmp"),
    "image/x-icon": ("image", "vnd.microsoft.icon"), "image/ico": ("image", "vnd.microsoft.icon"),
    "image/heif": ("image", "heic"), "image/heic-sequence": ("image", "heic"),
    "image/heif-sequence": ("image", "heic"), "image/avif-sequence": ("image", "avif"),
    "image/tif": ("image", "tiff"), "image/svg": ("image", "svg+xml"),
    "application/x-gzip": ("application", "gzip"), "application/x-pdf": ("application", "pdf"),
    "application/x-zip-compressed": ("application", "zip"), "text/xml": ("application", "xml"),
    "audio/mp3": ("audio", "mpeg"), "audio/x-mp3": ("audio", "mpeg"),
    "audio/mpeg3": ("audio", "mpeg"), "video/x-m4v": ("video", "mp4"),
    "application/xhtml+xml": ("text", "html"),
  ]
}
