// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import SQLiteJournal

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// What `batchwise status` was asked to do.
struct StatusOptions: Sendable {
  /// Where the journal is; nil for its place in the folder.
  var journal: String?
  var wantsHelp = false
  var wantsVersion = false

  /// Every option of `status`.
  static let table: [CommandOption<StatusOptions>] = [
    CommandOption(
      "journal", "FILE", "where the journal is (default: DIR/.batchwise/...)"
    ) {
      options, text throws(Refusal) in options.journal = try path(text, of: "--journal")
    },
    CommandOption("h", "help", nil, "show this text") { options, _ in options.wantsHelp = true },
    CommandOption("version", nil, "show the version") { options, _ in
      options.wantsVersion = true
    },
  ]
}

/// `batchwise status`: what the journal of an output folder knows.
struct JournalStatus {
  let options: StatusOptions
  let folder: String

  /// Says what is done, what has failed and why, and what is left to do.
  func run() throws(Refusal) -> ExitStatus {
    let path = options.journal ?? "\(folder)/.batchwise/journal.sqlite"
    let absence = Refusal(
      .cannotCreate, path, "there is no journal; a run of batchwise fetch -o DIR makes one")
    guard access(path, F_OK) == 0 || errno != ENOENT && errno != ENOTDIR else { throw absence }
    let summary: JournalSummary?
    do throws(JournalError) {
      summary = try SQLiteJournal.summary(path: path)
    } catch {
      throw Refusal(error)
    }
    guard let summary else { throw absence }
    if let failure = OutputStream.standardOutput.write(summary.text) {
      throw Refusal(.inputOutput, "standard output", "\(failure)")
    }
    return .success
  }
}

extension JournalSummary {
  /// The summary as lines of text.
  var text: String {
    var lines = ["\(done) done, \(formatted(bytes: bytes))"]
    for group in failures {
      lines.append("\(group.count) failed: \(group.reason.rawValue)")
      lines += group.examples.map { "  \(shown($0.url)): \(shown($0.message))" }
      if group.count > group.examples.count {
        lines.append("  and \(group.count - group.examples.count) more")
      }
    }
    if partial > 0 { lines.append("\(partial) left to do, of which a part is there") }
    if left > 0 { lines.append("\(left) left to do") }
    if forgotten > 0 { lines.append("\(forgotten) forgotten, and not met since") }
    if let lastRun { lines.append(lastRun.text(isInUse: isInUse)) }
    if failed > 0 { lines.append("To try again what has failed, add --retry-failed to the fetch") }
    return lines.map { $0 + "\n" }.joined()
  }
}

extension JournalRun {
  fileprivate func text(isInUse: Bool) -> String {
    let style = Date.ISO8601FormatStyle()
    let beginning = "The last run began \(began.formatted(style)), at most \(limit) in flight"
    guard let end else {
      return beginning + (isInUse ? ", and goes on" : ", and was killed")
    }
    let counts = "\(end.done) done, \(end.failed) failed, \(end.skipped) skipped"
    let how =
      switch end.ending {
      case .listDone: "ended with its list"
      case .stopped: "was stopped"
      case .diskFull: "found the disk full"
      case .listUnreadable: "could not read its list"
      case .failed: "could not go on"
      }
    return beginning + ", and \(how) \(end.time.formatted(style)): \(counts)"
  }
}
