// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

/// What the display says about a run at one moment, as pure text, so that it can be tested.
struct ProgressLine {
  let status: DownloadStatus
  /// How fast it has been of late.
  let pace: Pace

  /// How much came in a second.
  struct Pace: Equatable {
    var items = 0.0
    var bytes = 0.0
  }

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
    if pace.bytes > 0 { parts.append(formatted(bytes: Int64(pace.bytes), in: 1)) }
    if let left = timeLeft { parts.append("\(formatted(clock: left)) left") }
    return parts.joined(separator: ", ")
  }

  /// How long the rest will take if it goes on like this, where the list's end is known.
  private var timeLeft: Duration? {
    let rest = status.items - finished
    guard status.isListRead, rest > 0, pace.items > 0 else { return nil }
    let seconds = Double(rest) / pace.items
    return seconds < 360_000 ? .seconds(seconds) : nil
  }

  private var finished: Int { status.done + status.failed + status.skipped }
}

/// Finds out how fast a run has been in the last seconds.
struct PaceMeter {
  /// How far back it looks.
  static let window = Duration.seconds(5)

  private var samples: [(time: Duration, items: Int, bytes: Int64)] = []

  /// Takes note of what has come so far, and tells how much came in a second of late.
  mutating func pace(_ status: DownloadStatus, at time: Duration) -> ProgressLine.Pace {
    let items = status.done + status.failed + status.skipped
    samples.append((time, items, status.received))
    // One that is older than the window stays, so that the window is covered.
    while samples.count > 2, time - samples[1].time >= Self.window { samples.removeFirst() }
    let first = samples[0]
    let seconds = (time - first.time).inSeconds
    guard seconds > 0 else { return ProgressLine.Pace() }
    return ProgressLine.Pace(
      items: Double(items - first.items) / seconds,
      bytes: Double(status.received - first.bytes) / seconds)
  }
}
