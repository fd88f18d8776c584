// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

/// What the one large button of a batch does, and what it says.
enum BatchAction: Equatable {
  case start, pause, resume, startAgain
  /// There is nothing left to do.
  case nothing

  init(_ phase: DownloadBatch.Phase) {
    self =
      switch phase {
      case .ready: .start
      case .running: .pause
      case .paused: .resume
      case .cancelled, .failed: .startAgain
      case .done: .nothing
      }
  }

  /// What it says.
  var title: String {
    switch self {
    case .start: "Download Batch"
    case .pause: "Pause"
    case .resume: "Resume"
    case .startAgain: "Start Again"
    case .nothing: "Downloaded"
    }
  }

  /// What somebody hears who cannot see what it will do.
  var hint: String {
    switch self {
    case .start: "Starts the downloads"
    case .pause: "Lets no further download start; those in flight go on"
    case .resume: "Lets downloads start again"
    case .startAgain: "Goes on with what was left"
    case .nothing: "Nothing is left to be downloaded"
    }
  }

  /// Does it.
  @MainActor
  func perform(on batch: DownloadBatch) {
    switch self {
    case .start, .startAgain: batch.start()
    case .pause: batch.pause()
    case .resume: batch.resume()
    case .nothing: break
    }
  }
}

extension DownloadBatch.Status {
  /// The counts as a line of text.
  var words: String {
    var parts = ["\(ended) of \(items)"]
    if inFlight > 0 { parts.append("\(inFlight) in flight") }
    if failed > 0 { parts.append("\(failed) failed") }
    if skipped > 0 { parts.append("\(skipped) skipped") }
    if left > 0 { parts.append("\(left) left") }
    return parts.joined(separator: ", ")
  }
}

extension DownloadBatch.Row {
  /// The name under which it is shown: that of its file, or of its address.
  var name: String { file ?? url }

  /// What is going on with it, in words.
  var words: String {
    switch kind {
    case .waiting: "waiting"
    case .inFlight: transfer?.fraction.map { "in flight, \(Int($0 * 100)) percent" } ?? "in flight"
    case .pausing: "pauses before another attempt"
    case .done: "downloaded"
    case .skipped: "there was nothing to download"
    case .failed: "failed"
    case .left: "left"
    }
  }

  /// The symbol that stands for it while there is no picture.
  var symbol: String {
    switch kind {
    case .waiting, .inFlight: "photo"
    case .pausing: "hourglass"
    case .done: "doc"
    case .skipped: "checkmark"
    case .failed: "exclamationmark.triangle"
    case .left: "arrow.uturn.backward"
    }
  }
}
