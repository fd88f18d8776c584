// SPDX-License-Identifier: Apache-2.0

/// One option of a command.
///
/// The table of these is the only place that knows an option: it drives parsing, the help text, the manual
/// page and the completions of shells.
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

  /// An option that has a letter too.
  init(
    _ letter: Character, _ name: String, _ argument: String?, _ summary: String,
    apply: @escaping @Sendable (inout Settings, String) throws(Refusal) -> Void
  ) {
    self.init(letter: letter, name, argument, summary, apply: apply)
  }

  /// An option that has no letter.
  init(
    _ name: String, _ argument: String?, _ summary: String,
    apply: @escaping @Sendable (inout Settings, String) throws(Refusal) -> Void
  ) {
    self.init(letter: nil, name, argument, summary, apply: apply)
  }

  private init(
    letter: Character?, _ name: String, _ argument: String?, _ summary: String,
    apply: @escaping @Sendable (inout Settings, String) throws(Refusal) -> Void
  ) {
    self.letter = letter
    self.name = name
    self.argument = argument
    self.summary = summary
    self.apply = apply
  }
}
