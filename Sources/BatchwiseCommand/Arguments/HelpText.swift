// SPDX-License-Identifier: Apache-2.0

/// What `batchwise` says of itself.
let overview = """
  usage: batchwise fetch  [OPTIONS] [URL ...]  download a list, at most N at once
         batchwise demo   [OPTIONS]            the same on 20 pictures of its own
         batchwise serve  [OPTIONS] [URL ...]  the same as a page in the browser
         batchwise status DIR                  what is done there, what is left
         batchwise help   [COMMAND]            this text, or a command's options
         batchwise help   --manual             all of it as a page for man
         batchwise help   --completions SHELL  what bash, zsh or fish has to know
         batchwise --version

  For example:  batchwise fetch -i urls.txt -o pictures --limit 3

  """

extension CommandText {
  /// What `--help` says of the command.
  var help: String {
    let width = options.map(\.synopsis.count).max() ?? 0
    let lines = options.map { option in
      let gap = String(repeating: " ", count: width - option.synopsis.count + 2)
      return "  \(option.synopsis)\(gap)\(option.summary)\n"
    }
    return "usage: batchwise \(name) \(operands)\n\n\(summary)\n\n\(lines.joined())"
  }
}

extension CommandText.OptionText {
  /// The option as the help text shows it, such as `-n, --limit N`.
  fileprivate var synopsis: String {
    let short = letter.map { "-\($0), " } ?? "    "
    return short + "--" + name + (argument.map { " " + $0 } ?? "")
  }
}
