// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import CurlTransport

/// Why the command does not begin: one line that names the value and what would be right.
struct Refusal: Error, Equatable {
  /// What the shell is told.
  let status: ExitStatus
  /// The line, fit to be shown whatever was typed.
  let message: String

  /// Refuses a value, that of an option if one is named.
  init(_ status: ExitStatus, of option: String? = nil, _ value: String, _ advice: String) {
    self.status = status
    message = (option.map { $0 + " " } ?? "") + shown(value) + ": " + advice
  }

  /// Says why no request could be sent.
  init(_ error: CurlTransportError) {
    status = error.isBadOption ? .usage : .inputOutput
    message = shown(error.description)
  }

  /// Says why the journal cannot be used.
  init(_ error: JournalError) {
    status = error.kind == .diskFull ? .inputOutput : .cannotCreate
    message = shown(error.description)
  }
}

/// A value as a message shows it: on one line of fitting length, without what a terminal would obey,
/// and without the user name and password of an address.
func shown(_ value: String) -> String {
  var scalars = value.unicodeScalars
  if let scheme = scalars.firstRange(of: "://".unicodeScalars),
    let at = scalars.lastIndex(of: "@"), at >= scheme.upperBound
  {
    scalars.removeSubrange(scheme.upperBound...at)
  }
  var text = String.UnicodeScalarView()
  text.append(contentsOf: scalars.prefix(1000).map { $0.isMisleading ? "\u{FFFD}" : $0 })
  if scalars.count > 1000 { text.append("…") }
  return text.isEmpty ? "''" : String(text)
}
