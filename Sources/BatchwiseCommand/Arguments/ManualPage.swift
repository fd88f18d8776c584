// SPDX-License-Identifier: Apache-2.0

/// The manual page, in the words that `man` understands (man(7)).
var manualPage: String {
  let synopsis = CommandText.all.map { command in
    ".br\n\(bold("batchwise \(command.name)")) \(escaped(command.operands))\n"
  }
  let commands = CommandText.all.map { command in
    """
    .SS batchwise \(command.name)
    \(line(command.summary))
    \(command.options.map(paragraph).joined())
    """
  }
  let statuses = exitStatuses.map { status, meaning in
    ".TP\n\(bold("\(status)"))\n\(line(meaning))\n"
  }
  return """
    .TH BATCHWISE 1 "" "batchwise \(batchwiseVersion)" "User Commands"
    .SH NAME
    batchwise \\- download a list of URLs, at most N at once
    .SH SYNOPSIS
    \(synopsis.joined()).SH COMMANDS
    Sizes take k, M and G, powers of 1024; times take ms, s, m and h.
    \(commands.joined()).SH EXIT STATUS
    \(statuses.joined()).SH FILES
    .TP
    \(italic("DIR/.batchwise/journal.sqlite"))
    \(line("What the runs into the folder DIR have done. A killed run is gone on with by it."))
    .TP
    \(italic("~/.netrc"))
    \(line("Names and passwords for --netrc, or the file that $NETRC names."))
    .SH EXAMPLES
    .EX
    \(escaped("batchwise fetch -i urls.txt -o pictures --limit 3"))
    \(escaped("generate-urls | batchwise fetch -o pictures --events -"))
    \(escaped("batchwise serve -i urls.txt -o pictures"))
    \(escaped("batchwise status pictures"))
    .EE

    """
}

private let exitStatuses: [(ExitStatus.RawValue, String)] = [
  (ExitStatus.success.rawValue, "Every item is done, now or in an earlier run."),
  (ExitStatus.someFailed.rawValue, "At least one item failed."),
  (ExitStatus.usage.rawValue, "What was typed cannot be understood; nothing was started."),
  (
    ExitStatus.cannotCreate.rawValue,
    "The output folder or the journal cannot be made, or is in use by another run."
  ),
  (ExitStatus.inputOutput.rawValue, "The disk is full, or the journal cannot be written."),
  (ExitStatus.interrupted.rawValue, "Interrupted by INT; a further run goes on."),
  (ExitStatus.terminated.rawValue, "Interrupted by TERM; a further run goes on."),
]

private func paragraph(_ option: CommandText.OptionText) -> String {
  let letter = option.letter.map { "\(bold("-\($0)")), " } ?? ""
  let argument = option.argument.map { " \(italic($0))" } ?? ""
  return ".TP\n\(letter)\(bold("--\(option.name)"))\(argument)\n\(line(option.summary))\n"
}

private func bold(_ text: String) -> String { "\\fB\(escaped(text))\\fR" }

private func italic(_ text: String) -> String { "\\fI\(escaped(text))\\fR" }

/// A line of text, which must not be taken for a request.
private func line(_ text: String) -> String {
  let text = escaped(text)
  return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&\(text)" : text
}

private func escaped(_ text: String) -> String {
  text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
}
