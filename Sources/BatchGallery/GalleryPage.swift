// SPDX-License-Identifier: Apache-2.0

/// The page: one document with its style and its program inside, so that nothing else is asked for.
enum GalleryPage {
  /// The page as it is sent once: what is inside it may run, for it has that answer's random mark, and
  /// nothing else may.
  static func answer() -> PageAnswer {
    var random = SystemRandomNumberGenerator()
    let nonce = String(random.next(), radix: 36)
    let policy =
      "default-src 'none'; style-src 'nonce-\(nonce)'; script-src 'nonce-\(nonce)'; "
      + "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
      + "frame-ancestors 'none'"
    return PageAnswer(
      200,
      [
        ("Content-Type", "text/html; charset=utf-8"), ("Cache-Control", "no-store"),
        ("Content-Security-Policy", policy),
      ],
      .bytes(Array(parts.joined(separator: nonce).utf8)))
  }

  /// What stands before, between and behind the places of the mark.
  private static let parts: [String] = {
    let page = text(PackageResources.page_html)
      .replacing("{{style}}", with: text(PackageResources.page_css))
      .replacing(
        "{{program}}", with: text(PackageResources.page_js) + text(PackageResources.tiles_js))
    return page.split(separator: "{{nonce}}", omittingEmptySubsequences: false).map { String($0) }
  }()

  private static func text(_ resource: [UInt8]) -> String {
    String(decoding: resource, as: UTF8.self)
  }
}
