// SPDX-License-Identifier: Apache-2.0

extension Unicode.Scalar {
  /// Whether a terminal, a page or a reader could take it for something else than a letter of a
  /// text: a control character, a line break, or one that turns the direction of writing.
  package var isMisleading: Bool {
    switch self {
    case "\u{061C}", "\u{200E}", "\u{200F}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}":
      true
    default:
      switch properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator: true
      default: false
      }
    }
  }
}

extension String {
  /// The text fit for a message: without characters that mislead, and cut to a length that fits a
  /// line.
  var harmless: String {
    var result = String.UnicodeScalarView()
    let shown = unicodeScalars.prefix(200)
    result.append(contentsOf: shown.lazy.map { $0.isMisleading ? "\u{FFFD}" : $0 })
    return String(result)
  }
}
