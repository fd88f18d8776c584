// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

/// The one or two lines that a run ends with.
func summaryText(_ report: DownloadReport) -> String {
  let status = report.status
  let seconds = report.duration.inSeconds
  var parts = ["\(status.done) done"]
  if status.failed > 0 { parts.append("\(status.failed) failed") }
  if status.skipped > 0 { parts.append("\(status.skipped) skipped") }
  var text = parts.joined(separator: ", ")
  text += ": \(formatted(bytes: status.bytes)) in \(formatted(number: seconds)) s"
  if status.done > 0, seconds > 0 {
    text += " (\(formatted(number: Double(status.done) / seconds)) files/s,"
    text += " \(formatted(bytes: status.bytes, in: seconds)))"
  }
  return text + ", peak in flight \(status.peakInFlight)\n"
}

/// What to type next, where something is left to do.
///
/// - Parameters:
///   - report: What the run came to.
///   - reasons: Why items have failed, each reason once.
///   - hasJournal: Whether a later run knows what this one did.
/// - Returns: Some lines of text, or none.
func nextSteps(
  _ report: DownloadReport, _ reasons: [DownloadFailure.Reason], hasJournal: Bool
) -> String {
  var lines = reasons.compactMap(\.advice)
  if report.ending != .listDone {
    lines.append(
      hasJournal
        ? "Run the same command again to go on where it stopped."
        : "Without a journal a further run begins anew.")
  }
  if report.status.failed > 0, hasJournal {
    lines.append("Add --retry-failed to a further run to try again what has failed.")
  }
  return lines.map { $0 + "\n" }.joined()
}

extension DownloadFailure.Reason {
  /// What may help against failures of this kind, if the command has something to offer.
  fileprivate var advice: String? {
    switch self {
    case .timeout: "A longer --idle-timeout or --connect-timeout, or a smaller --limit, may help."
    case .tls: "--cacert FILE names certificates that may vouch for servers."
    case .name: "--names hash gives each address a name of its own."
    case .tooLarge: "--max-size says how long a file may be."
    case .tooSmall: "--min-size says how short a file may be."
    case .wrongType: "--expect says of what kind files have to be."
    case .connect, .dns: "Is the network there? --proxy URL goes through another machine."
    default: nil
    }
  }
}
