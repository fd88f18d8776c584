// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

/// What `--verbose` says of something that happened, as one line.
func verboseLine(_ event: DownloadEvent) -> String? {
  let place = event.line > 0 ? "line \(event.line): " : ""
  let what =
    switch event.kind {
    case .started(let attempt): attempt == 1 ? "started" : "started, attempt \(attempt)"
    case .retry(_, let failure, let delay):
      "\(failure.message); again in \(formatted(number: delay.inSeconds)) s"
    case .done(let file):
      "\(shown(file.name)), \(formatted(bytes: file.bytes)) in "
        + "\(formatted(number: file.duration.inSeconds)) s, \(file.proof.rawValue)"
    case .failed(let failure, _): "failed, \(failure.reason.rawValue): \(failure.message)"
    case .skipped(let reason, let file):
      "skipped, \(reason.rawValue)" + (file.map { ": " + shown($0) } ?? "")
    }
  return place + event.url + ": " + what
}
