// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

/// What the display says of one transfer in flight, as pure text.
///
/// - Parameters:
///   - transfer: How far it has come.
///   - width: How many columns the terminal has.
/// - Returns: A line that is shorter than that, with nothing in it that a terminal would obey.
func transferRow(_ transfer: TransferProgress, width: Int) -> String {
  let total = transfer.total.map { " of \(formatted(bytes: $0))" } ?? ""
  let amount =
    "  \(formatted(bytes: transfer.received))\(total), \(formatted(clock: transfer.duration))"
  let room = width - 3 - amount.count
  // What is left is worth nothing where there is no room for a name.
  guard room >= 8 else { return String(amount.dropFirst().prefix(max(0, width - 1))) }
  let name = fitted(shown(transfer.name), columns: room)
  return "  " + name + amount
}

/// The text cut to so many columns of a terminal, its end kept, for there the extension is.
func fitted(_ text: String, columns: Int) -> String {
  if text.unicodeScalars.reduce(0, { $0 + $1.columns }) <= columns { return text }
  var kept = String.UnicodeScalarView()
  var room = columns - 1
  for scalar in text.unicodeScalars.reversed() {
    guard scalar.columns <= room else { break }
    room -= scalar.columns
    kept.append(scalar)
  }
  var end = String.UnicodeScalarView()
  end.append(contentsOf: kept.reversed())
  return "…" + String(end)
}

extension Unicode.Scalar {
  /// How many columns of a terminal it takes, nearly always (Unicode Standard Annex #11).
  fileprivate var columns: Int {
    switch value {
    case 0x1100...0x115f, 0x2e80...0xa4cf, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe30...0xfe6f,
      0xff00...0xff60, 0xffe0...0xffe6, 0x1f300...0x1faff, 0x20000...0x3fffd:
      2
    default:
      switch properties.generalCategory {
      case .nonspacingMark, .enclosingMark, .format: 0
      default: 1
      }
    }
  }
}
