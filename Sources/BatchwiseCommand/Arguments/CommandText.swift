// SPDX-License-Identifier: Apache-2.0

/// One command, as far as it is told to people.
struct CommandText: Sendable {
  let name: String
  /// What is typed besides options.
  let operands: String
  let summary: String
  let options: [OptionText]

  /// One option, as far as it is told to people.
  struct OptionText: Sendable {
    let letter: Character?
    let name: String
    let argument: String?
    let summary: String
  }

  private init<Settings>(
    _ name: String, _ operands: String, _ summary: String, _ options: [CommandOption<Settings>]
  ) {
    self.name = name
    self.operands = operands
    self.summary = summary
    self.options = options.map {
      OptionText(
        letter: $0.letter, name: $0.name, argument: $0.argument, summary: $0.summary)
    }
  }

  static let fetch = CommandText(
    "fetch", "[OPTIONS] [URL ...]", "Downloads every URL of a list, at most N at once.",
    FetchOptions.table)
  static let serve = CommandText(
    "serve", "[OPTIONS] [URL ...]",
    "The same as a page in the browser of this machine: watch it, steer it.",
    FetchOptions.serveTable)
  static let demo = CommandText(
    "demo", "[OPTIONS]",
    "The same on 20 pictures from inside the program: nothing to set up, no network.",
    FetchOptions.demoTable)
  static let status = CommandText(
    "status", "[OPTIONS] DIR",
    "Says what the journal of an output folder knows: done, failed, left to do.",
    StatusOptions.table)

  /// All commands that have options.
  static let all = [fetch, serve, demo, status]
}
