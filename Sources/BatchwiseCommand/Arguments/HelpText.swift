// SPDX-License-Identifier: Apache-2.0

let fetchSummary = "Downloads every URL of a list, at most N at once."
let demoSummary =
  "The same on 20 pictures from inside the program: nothing to set up, no network."

let serveSummary =
  "Shows a batch as a page in the browser of this machine: start it, watch, steer, add to it."

let statusSummary = "Says what the journal of an output folder knows: done, failed, left to do."

/// What `batchwise` says of itself.
let overview = """
  usage: batchwise fetch  [OPTIONS] [URL ...]  download a list, at most N at once
         batchwise demo   [OPTIONS]            the same on 20 pictures of its own
         batchwise serve  [OPTIONS] [URL ...]  the same as a page in the browser
         batchwise status DIR                  what is done there, what is left
         batchwise help   [COMMAND]            this text, or a command's options
         batchwise --version

  For example:  batchwise fetch -i urls.txt -o pictures --limit 3

  """

/// The help text of one command, from its table of options.
func helpText<Settings>(
  _ usage: String, _ summary: String, _ options: [CommandOption<Settings>]
) -> String {
  let width = options.map(\.synopsis.count).max() ?? 0
  let lines = options.map { option in
    let gap = String(repeating: " ", count: width - option.synopsis.count + 2)
    return "  \(option.synopsis)\(gap)\(option.summary)\n"
  }
  return "usage: batchwise \(usage)\n\n\(summary)\n\n\(lines.joined())"
}
