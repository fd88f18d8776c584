// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import Synchronization

/// Shows on standard error how a run goes: a bar and the slowest transfers on a terminal, a plain line
/// now and then elsewhere.
final class Display: Sendable {
  /// How the progress is shown.
  enum Style: Sendable, Equatable {
    /// A few lines that are drawn over themselves, ten times a second at most.
    case bar
    /// A new line every few seconds.
    case lines
    /// Nothing.
    case none
  }

  /// How many transfers are shown, those that have taken longest.
  private static let mostRows = 5
  /// How long a transfer has to take before it is shown: quick ones would only flicker.
  private static let slow = Duration.seconds(1)

  private let style: Style
  private let stream: OutputStream
  /// How many lines are drawn, the cursor being at the end of the last one.
  private let drawn = Mutex(0)

  init(_ style: Style, on stream: OutputStream = .standardError) {
    self.style = style
    self.stream = stream
  }

  /// Shows the run's progress until the task is cancelled.
  func follow(_ run: DownloadRun) async {
    guard style != .none else { return }
    let start = ContinuousClock.now
    let pause: Duration = style == .bar ? .milliseconds(100) : .seconds(5)
    var meter = PaceMeter()
    while (try? await Task.sleep(for: pause)) != nil {
      let status = run.status
      let line = ProgressLine(status: status, pace: meter.pace(status, at: .now - start))
      switch style {
      case .bar:
        let (width, height) = stream.size
        let slowest = run.slowestTransfers(atMost: min(Self.mostRows, max(0, height - 2)))
        let rows = slowest.filter { $0.duration >= Self.slow }
        draw([line.bar(width: width)] + rows.map { transferRow($0, width: width) })
      case .lines: stream.write(line.counts + "\n")
      case .none: break
      }
    }
  }

  private func draw(_ lines: [String]) {
    drawn.withLock { drawn in
      stream.write(Self.erasing(drawn) + lines.joined(separator: "\n"))
      drawn = lines.count
    }
  }

  /// Writes lines of text, on another stream if so told, without tearing what is drawn.
  ///
  /// - Returns: What kept it from writing them all, or nil.
  @discardableResult
  func write(_ text: String, to other: OutputStream? = nil) -> SystemError? {
    drawn.withLock { drawn in
      guard !text.isEmpty else { return nil }
      if drawn > 0 { stream.write(Self.erasing(drawn)) }
      drawn = 0
      return (other ?? stream).write(text)
    }
  }

  /// What brings the cursor to the beginning of the first of so many lines, and clears them all.
  private static func erasing(_ lines: Int) -> String {
    (lines > 1 ? "\u{1b}[\(lines - 1)A" : "") + "\r\u{1b}[J"
  }
}
