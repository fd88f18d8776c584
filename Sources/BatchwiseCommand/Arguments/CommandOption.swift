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
  let apply: @Sendable (inout Settings, String) throws(Refusal) -> Void

  init(
    _ letter: Character? = nil, _ name: String, _ argument: String? = nil, _ summary: String,
    apply: @escaping @Sendable (inout Settings, String) throws(Refusal) -> Void
  ) {
    self.letter = letter
    self.name = name
    self.argument = argument
    self.summary = summary
    self.apply = apply
  }
}

extension CommandOption {
  /// The option as the help text shows it, such as `-n, --limit N`.
  var synopsis: String {
    let short = letter.map { "-\($0), " } ?? "    "
    return short + "--" + name + (argument.map { " " + $0 } ?? "")
  }
}

/// A number of things at once, from an option's argument.
func positiveNumber(_ text: String, of option: String) throws(Refusal) -> Int {
  guard let number = Int(text), (1...1_000_000).contains(number) else {
    throw Refusal(.usage, of: option, text, "give a whole number from 1 to 1000000")
  }
  return number
}

/// The path of a folder or a file, from an option's argument.
func path(_ text: String, of option: String) throws(Refusal) -> String {
  guard !text.isEmpty else {
    throw Refusal(.usage, of: option, text, "give a path; this one is empty")
  }
  return text
}
