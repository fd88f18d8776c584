// SPDX-License-Identifier: Apache-2.0

/// One option of a command.
///
/// The table of these is the only place that knows an option: it drives parsing and the help text.
struct CommandOption<Settings>: Sendable {
  /// The one-letter form, if there is one.
  let letter: Character?
  /// The name after two dashes.
  let name: String
  /// What stands for the option's argument in the help text, or nil if it takes none.
  let argument: String?
  /// What the option does, as one line.
  let summary: String
  /// Puts the option's argument, or an empty text, into the settings.
  let apply: @Sendable (inout Settings, String) throws(UsageError) -> Void

  init(
    _ letter: Character? = nil, _ name: String, _ argument: String? = nil, _ summary: String,
    apply: @escaping @Sendable (inout Settings, String) throws(UsageError) -> Void
  ) {
    self.letter = letter
    self.name = name
    self.argument = argument
    self.summary = summary
    self.apply = apply
  }
}

/// Something wrong with what was typed: one line that names the value and what would be right.
struct UsageError: Error, Equatable {
  let message: String

  init(_ message: String) { self.message = message }
}

extension CommandOption {
  /// The option as the help text shows it, such as `-n, --limit N`.
  var synopsis: String {
    let short = letter.map { "-\($0), " } ?? "    "
    return short + "--" + name + (argument.map { " " + $0 } ?? "")
  }
}

/// A number of things at once, from an option's argument.
func positiveNumber(_ text: String, of option: String) throws(UsageError) -> Int {
  guard let number = Int(text), number >= 1 else {
    throw UsageError("\(option) \(text): give a whole number of at least 1")
  }
  return number
}
