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
  public static func main() async -> Never {
    let status = await run(Array(CommandLine.arguments.dropFirst()))
    exit(status.rawValue)
  }

  /// Runs the command, given what was typed after its name.
  static func run(_ arguments: [String]) async -> ExitStatus {
    let rest = Array(arguments.dropFirst())
    do {
      switch arguments.first {
      case "fetch": return try await fetch(rest)
      case "demo": return try await demo(rest)
      case "help": return try help(rest.first)
      case "--help", "-h": return try help(nil)
      case "--version": return say("batchwise \(batchwiseVersion)\n")
      case nil:
        OutputStream.standardError.write(overview)
        return .usage
      case let word?:
        throw UsageError("\(word): there is no such command; batchwise help lists them")
      }
    } catch let error as UsageError {
      OutputStream.standardError.write("batchwise: \(error.message)\n")
      return .usage
    } catch let refusal as Refusal {
      OutputStream.standardError.write("batchwise: \(refusal.message)\n")
      return refusal.status
    } catch {
      preconditionFailure("Every error of a command is a usage error or a refusal: \(error)")
    }
  }

  private static func fetch(_ arguments: [String]) async throws -> ExitStatus {
    var options = FetchOptions()
    options.urls = try parseArguments(arguments, FetchOptions.table, into: &options)
    if let answer = try answered(options, "fetch") { return answer }
    return try await Fetch(options: options).run()
  }

  private static func demo(_ arguments: [String]) async throws -> ExitStatus {
    var options = FetchOptions.demo
    let operands = try parseArguments(arguments, FetchOptions.demoTable, into: &options)
    if let word = operands.first {
      throw UsageError("\(word): batchwise demo takes options only; its pictures are its own")
    }
    if let answer = try answered(options, "demo") { return answer }
    return try await Demo(options: options).run()
  }

  /// Answers `--help` and `--version`, which go before everything else.
  private static func answered(_ options: FetchOptions, _ command: String) throws -> ExitStatus? {
    if options.wantsHelp { return try help(command) }
    if options.wantsVersion { return say("batchwise \(batchwiseVersion)\n") }
    return nil
  }

  private static func help(_ command: String?) throws -> ExitStatus {
    switch command {
    case nil: say(overview)
    case "fetch": say(helpText("fetch [OPTIONS] [URL ...]", fetchSummary, FetchOptions.table))
    case "demo": say(helpText("demo [OPTIONS]", demoSummary, FetchOptions.demoTable))
    case let word?:
      throw UsageError("\(word): there is no such command; batchwise help lists them")
    }
  }

  @discardableResult
  private static func say(_ text: String) -> ExitStatus {
    OutputStream.standardOutput.write(text)
    return .success
  }
}
