// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// One line of `--events`, read as a program of somebody else would.
struct LoggedEvent: Decodable, Sendable {
  var event: String
  var time: String
  var id: Int?
  var line: Int?
  var url: String?
  var attempt: Int?
  var attempts: Int?
  var bytes: Int?
  var delay: Double?
  var file: String?
  var proof: String?
  var reason: String?
  var message: String?
  var seconds: Double?
  var sha256: String?
  var status: Int?
  var schema: Int?
  var version: String?
  var limit: Int?
  var output: String?
  var done: Int?
  var failed: Int?
  var skipped: Int?
  var peakInFlight: Int?

  /// When it happened.
  var date: Date {
    get throws {
      try Date(time, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
  }

  /// Whether it is the last event of its item.
  var isEnding: Bool { ["done", "failed", "skipped"].contains(event) }

  /// Reads lines of which each must be an object, and the last must have its end.
  static func read(_ text: String) throws -> [LoggedEvent] {
    try #require(text.isEmpty || text.hasSuffix("\n"))
    return try text.split(separator: "\n").map {
      try JSONDecoder().decode(LoggedEvent.self, from: Data($0.utf8))
    }
  }
}

extension [LoggedEvent] {
  /// The events of one kind.
  func of(_ event: String) -> [LoggedEvent] { filter { $0.event == event } }

  /// Which numbers of items have ended, each as often as it has, in order.
  var endedIDs: [Int] { filter(\.isEnding).compactMap(\.id).sorted() }

  /// What happened to an item, in order: the kinds of its events.
  func story(of url: String) -> [String] { filter { $0.url == url }.map(\.event) }

  /// What an item ended with.
  func ending(of url: String) -> LoggedEvent? { first { $0.url == url && $0.isEnding } }

  /// The items' addresses by the reason for which they failed or were skipped.
  var reasons: [String: [String]] {
    Dictionary(grouping: filter { $0.reason != nil }, by: { $0.reason ?? "" })
      .mapValues { $0.compactMap(\.url) }
  }
}

extension CommandRun.Ending {
  /// What was captured of standard output, as events.
  var events: [LoggedEvent] { get throws { try LoggedEvent.read(output) } }
}
