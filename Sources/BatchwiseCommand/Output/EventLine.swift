// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// One line of `--events`: a JSON object whose fields keep their meaning within a schema.
struct EventLine: Encodable {
  private var event: String
  private var time: String
  private var id: Int?
  private var line: Int?
  private var url: String?
  private var attempt: Int?
  private var attempts: Int?
  private var bytes: Int64?
  private var delay: Double?
  private var file: String?
  private var proof: String?
  private var reason: String?
  private var message: String?
  private var seconds: Double?
  private var sha256: String?
  private var status: Int?
  // The fields of the first and the last line.
  private var schema: Int?
  private var version: String?
  private var limit: Int?
  private var output: String?
  private var done: Int?
  private var failed: Int?
  private var skipped: Int?
  private var peakInFlight: Int?

  private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

  private init(_ event: String, at time: Date) {
    self.event = event
    self.time = time.formatted(Self.style)
  }

  /// The first line.
  static func run(limit: Int, output: String) -> EventLine {
    var line = EventLine("run", at: Date())
    line.schema = 1
    line.version = batchwiseVersion
    line.limit = limit
    line.output = output
    return line
  }

  /// The last line.
  static func summary(_ report: DownloadReport) -> EventLine {
    var line = EventLine("summary", at: Date())
    line.done = report.status.done
    line.failed = report.status.failed
    line.skipped = report.status.skipped
    line.bytes = report.status.bytes
    line.seconds = report.duration.inSeconds
    line.peakInFlight = report.status.peakInFlight
    return line
  }

  /// The line for something that happened to one item.
  init(_ event: DownloadEvent) {
    let name =
      switch event.kind {
      case .started: "started"
      case .retry: "retry"
      case .done: "done"
      case .failed: "failed"
      case .skipped: "skipped"
      }
    self.init(name, at: event.time)
    id = event.id
    line = event.line
    url = event.url
    switch event.kind {
    case .started(let attempt):
      self.attempt = attempt
    case .retry(let attempt, let failure, let delay):
      self.attempt = attempt
      reason = failure.reason.rawValue
      message = failure.message
      status = failure.status
      self.delay = delay.inSeconds
    case .done(let file):
      self.file = file.name
      bytes = file.bytes
      status = file.status
      attempts = file.attempts
      seconds = file.duration.inSeconds
      proof = file.proof.rawValue
      sha256 = file.sha256?.hex
    case .failed(let failure, let attempts):
      reason = failure.reason.rawValue
      message = failure.message
      status = failure.status
      self.attempts = attempts
    case .skipped(let reason, let file):
      self.reason = reason.rawValue
      self.file = file
    }
  }

  /// The lines as text, one object each.
  static func encoded(_ lines: some Sequence<EventLine>) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    var text: [UInt8] = []
    for line in lines {
      // Strings and finite numbers always have a form in JSON.
      guard let object = try? encoder.encode(line) else { continue }
      text += object
      text.append(UInt8(ascii: "\n"))
    }
    return text
  }
}

extension Duration {
  /// This duration as a number of seconds.
  var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }
}
