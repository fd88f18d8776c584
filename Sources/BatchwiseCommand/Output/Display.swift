// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import Synchronization

/// Shows on standard error how a run goes: a bar on a terminal, a plain line now and then elsewhere.
final class Display: Sendable {
  /// How the progress is shown.
  enum Style: Sendable, Equatable {
    /// One line that is drawn over itself, ten times a second.
    case bar
    /// A new line every few seconds.
    case lines
    /// Nothing.
    case none
  }

  private let style: Style
  private let stream: OutputStream
  private let isDrawn = Mutex(false)

  init(_ style: Style, on stream: OutputStream = .standardError) {
    self.style = style
    self.stream = stream
  }

  /// Shows the run's progress until the task is cancelled.
  func follow(_ run: BatchDownloader) async {
    guard style != .none else { return }
    let start = ContinuousClock.now
    let pause: Duration = style == .bar ? .milliseconds(100) : .seconds(5)
    while (try? await Task.sleep(for: pause)) != nil {
      let line = ProgressLine(status: run.status, elapsed: .now - start)
      isDrawn.withLock { isDrawn in
        switch style {
        case .bar:
          stream.write("\r\u{1b}[K" + line.bar(width: stream.width))
          isDrawn = true
        case .lines: stream.write(line.counts + "\n")
        case .none: break
        }
      }
    }
  }

  /// Writes lines of text, on another stream if so told, without tearing the bar.
  ///
  /// - Returns: What kept it from writing them all, or nil.
  @discardableResult
  func write(_ text: String, to other: OutputStream? = nil) -> SystemError? {
    isDrawn.withLock { isDrawn in
      guard !text.isEmpty else { return nil }
      if isDrawn { stream.write("\r\u{1b}[K") }
      isDrawn = false
      return (other ?? stream).write(text)
    }
  }
}
