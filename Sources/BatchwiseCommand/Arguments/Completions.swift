// SPDX-License-Identifier: Apache-2.0

/// A shell that can complete what is typed.
enum Shell: String, CaseIterable {
  case bash, zsh, fish

  /// What the shell has to read so that it completes commands and options.
  var completions: String {
    switch self {
    case .bash: Self.bashText
    // zsh understands what bash is told, once it is asked to.
    case .zsh: "#compdef batchwise\nautoload -Uz bashcompinit && bashcompinit\n" + Self.bashText
    case .fish: Self.fishText
    }
  }

  private static let commands = CommandText.all.map(\.name) + ["help"]

  private static var bashText: String {
    let cases = CommandText.all.map { command in
      let words = command.options.flatMap { option in
        (option.letter.map { ["-\($0)"] } ?? []) + ["--\(option.name)"]
      }
      return "    \(command.name)) words='\(words.joined(separator: " "))' ;;\n"
    }
    return """
      _batchwise() {
        local words='' word=${COMP_WORDS[COMP_CWORD]}
        case ${COMP_WORDS[1]} in
      \(cases.joined())    help) words='\(CommandText.all.map(\.name).joined(separator: " "))' ;;
        esac
        [ "$COMP_CWORD" -gt 1 ] || words='\(commands.joined(separator: " "))'
        COMPREPLY=($(compgen -W "$words" -- "$word"))
      }
      complete -o default -F _batchwise batchwise

      """
  }

  private static var fishText: String {
    let names = CommandText.all.map { command in
      line("-f -n __fish_use_subcommand -a \(command.name)", command.summary)
    }
    let options = CommandText.all.flatMap { command in
      command.options.map { option in
        let letter = option.letter.map { " -s \($0)" } ?? ""
        let argument = option.argument == nil ? "" : " -r"
        return line(
          "-n '__fish_seen_subcommand_from \(command.name)'\(letter) -l \(option.name)\(argument)",
          option.summary)
      }
    }
    return (names + options).joined()
  }

  private static func line(_ condition: String, _ summary: String) -> String {
    let text = summary.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
    return "complete -c batchwise \(condition) -d '\(text)'\n"
  }
}
