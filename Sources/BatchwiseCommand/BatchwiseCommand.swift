// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// The version of the command and of the libraries.
let batchwiseVersion = "0.1.0"

/// The command `batchwise`: reads what was typed, wires the parts together, and runs them.
public enum BatchwiseCommand {
  /// Runs the command that was typed, and ends the process with its status.
  ///
  /// The main thread waits for signals meanwhile.
  public static func main() -> Never {
    prepareProcess()
    Task { exit(await run(typedArguments).rawValue) }
    InterruptSignals.shared.wait()
  }

  /// Runs the command, given what was typed after its name.
  static func run(_ arguments: () throws(Refusal) -> [String]) async -> ExitStatus {
    do throws(Refusal) {
      return try await run(arguments())
    } catch {
      OutputStream.standardError.write("batchwise: \(error.message)\n")
      return error.status
    }
  }

  private static func run(_ arguments: [String]) async throws(Refusal) -> ExitStatus {
    let rest = Array(arguments.dropFirst())
    switch arguments.first {
    case "fetch": return try await fetch(rest)
    case "serve": return try await serve(rest)
    case "demo": return try await demo(rest)
    case "status": return try status(rest)
    case "help": return try help(rest)
    case "--help", "-h": return try help([])
    case "--version": return try say("batchwise \(batchwiseVersion)\n")
    case nil:
      OutputStream.standardError.write(overview)
      return .usage
    case let word?: throw unknown(word)
    }
  }

  private static func fetch(_ arguments: [String]) async throws(Refusal) -> ExitStatus {
    var options = FetchOptions()
    options.add(operands: try parseArguments(arguments, FetchOptions.table, into: &options))
    if let answer = try answered(options.wantsHelp, options.wantsVersion, "fetch") { return answer }
    return try await Fetch(options: options).run()
  }

  private static func serve(_ arguments: [String]) async throws(Refusal) -> ExitStatus {
    var options = FetchOptions()
    options.page = FetchOptions.Page()
    options.add(
      operands: try parseArguments(arguments, FetchOptions.serveTable, into: &options))
    if let answer = try answered(options.wantsHelp, options.wantsVersion, "serve") { return answer }
    return try await Fetch(options: options).run()
  }

  private static func demo(_ arguments: [String]) async throws(Refusal) -> ExitStatus {
    var options = FetchOptions.demo
    let operands = try parseArguments(arguments, FetchOptions.demoTable, into: &options)
    if let answer = try answered(options.wantsHelp, options.wantsVersion, "demo") { return answer }
    if let word = operands.first {
      throw Refusal(.usage, word, "batchwise demo takes options only; its pictures are its own")
    }
    return try await Demo(options: options).run()
  }

  private static func status(_ arguments: [String]) throws(Refusal) -> ExitStatus {
    var options = StatusOptions()
    let operands = try parseArguments(arguments, StatusOptions.table, into: &options)
    if let answer = try answered(options.wantsHelp, options.wantsVersion, "status") {
      return answer
    }
    guard let folder = operands.first ?? (options.journal == nil ? nil : ".") else {
      throw Refusal(.usage, "status", "give the output folder of a fetch")
    }
    if let word = operands.dropFirst().first {
      throw Refusal(.usage, word, "batchwise status takes one folder")
    }
    return try JournalStatus(options: options, folder: folder).run()
  }

  /// Answers `--help` and `--version`, which go before everything that can be done.
  private static func answered(
    _ wantsHelp: Bool, _ wantsVersion: Bool, _ command: String
  ) throws(Refusal) -> ExitStatus? {
    if wantsHelp { return try help([command]) }
    if wantsVersion { return try say("batchwise \(batchwiseVersion)\n") }
    return nil
  }

  private static func help(_ words: [String]) throws(Refusal) -> ExitStatus {
    switch words.first {
    case nil: return try say(overview)
    case "--manual": return try say(manualPage)
    case "--completions":
      let word = words.dropFirst().first ?? ""
      guard let shell = Shell(rawValue: word) else {
        throw Refusal(.usage, of: "--completions", word, "give bash, zsh or fish")
      }
      return try say(shell.completions)
    case let word?:
      guard let command = CommandText.all.first(where: { $0.name == word }) else {
        throw unknown(word)
      }
      return try say(command.help)
    }
  }

  private static func unknown(_ command: String) -> Refusal {
    Refusal(.usage, command, "there is no such command; batchwise help lists them")
  }

  private static func say(_ text: String) throws(Refusal) -> ExitStatus {
    if let failure = OutputStream.standardOutput.write(text) {
      throw Refusal(.inputOutput, "standard output", "\(failure)")
    }
    return .success
  }
}
