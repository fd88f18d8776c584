// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

/// What the display says about a run at one moment, as pure text, so that it can be tested.
struct ProgressLine {
  let status: DownloadStatus
  let elapsed: Duration

  /// The line for a terminal of that width: a bar where the end is known, and the counts.
  func bar(width: Int) -> String {
    let counts = self.counts
    let room = width - counts.count - 4
    guard status.isListRead, status.items > 0, room >= 10 else {
      return String(counts.prefix(max(width - 1, 0)))
    }
    let length = min(room, 30)
    let filled = length * finished / status.items
    return "["
      + String(repeating: "=", count: filled)
      + String(repeating: " ", count: length - filled)
      + "] " + counts
  }

  /// The counts as plain text.
  var counts: String {
    let total = status.isListRead ? "/\(status.items)" : ""
    var parts = ["\(finished)\(total) done"]
    if status.failed > 0 { parts[0] += ", \(status.failed) of them failed" }
    parts.append("\(status.inFlight) in flight")
    parts.append(formatted(bytes: status.received))
    if elapsed >= .milliseconds(500) {
      parts.append(formatted(bytes: status.received, in: elapsed.inSeconds))
    }
    return parts.joined(separator: ", ")
  }

  private var finished: Int { status.done + status.failed + status.skipped }
}

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

/// A number of bytes with a unit that is a power of 1024.
func formatted(bytes: Int64) -> String {
  guard bytes >= 1024 else { return "\(bytes) B" }
  var value = Double(bytes) / 1024
  for unit in ["KiB", "MiB", "GiB"] {
    if value < 1023.95 { return formatted(number: value) + " " + unit }
    value /= 1024
  }
  return formatted(number: value) + " TiB"
}

/// A number of bytes a second.
func formatted(bytes: Int64, in seconds: Double) -> String {
  formatted(bytes: Int64(exactly: (Double(bytes) / seconds).rounded()) ?? .max) + "/s"
}

/// A number with about three digits that matter.
func formatted(number: Double) -> String {
  let decimals = number < 9.995 ? 2 : number < 99.95 ? 1 : 0
  let scale = decimals == 2 ? 100.0 : decimals == 1 ? 10.0 : 1.0
  let scaled = Int64((number * scale).rounded())
  guard decimals > 0 else { return "\(scaled)" }
  let fraction = "\(scaled % Int64(scale))"
  let zeros = String(repeating: "0", count: decimals - fraction.count)
  return "\(scaled / Int64(scale)).\(zeros)\(fraction)"
}
