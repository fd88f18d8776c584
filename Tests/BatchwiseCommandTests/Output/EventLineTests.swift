// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import BatchwiseCommand
@testable import BatchwiseDownload

@Suite("A line of the events", .timeLimit(.minutes(1)))
struct EventLineTests {
  private static let time = Date(timeIntervalSince1970: 1_700_000_000.25)
  private static let file = DownloadedFile(
    name: "a.png", bytes: 7, status: 200, attempts: 1, duration: .milliseconds(1500),
    proof: .length)

  @Test(
    "It has just the fields of the contract",
    arguments: [
      (.started(attempt: 1), "started", ["attempt"]),
      (
        .done(file), "done",
        ["attempts", "bytes", "file", "proof", "seconds", "status"]
      ),
      (
        .failed(DownloadFailure(.status, status: 404, "No."), attempts: 1), "failed",
        ["attempts", "message", "reason", "status"]
      ),
      (
        .failed(DownloadFailure(.dns, "No."), attempts: 1), "failed",
        ["attempts", "message", "reason"]
      ),
      (.skipped(.unchanged, file: "a.png"), "skipped", ["file", "reason"]),
      (.skipped(.duplicate, file: nil), "skipped", ["reason"]),
    ] as [(DownloadEvent.Kind, String, [String])])
  func fields(kind: DownloadEvent.Kind, name: String, fields: [String]) throws {
    let event = DownloadEvent(time: Self.time, id: 3, line: 0, url: "http://host/a", kind: kind)
    let object = try decoded([EventLine(event)])[0]
    #expect(Set(object.keys) == Set(fields + ["event", "time", "id", "line", "url"]))
    #expect(object["event"] as? String == name)
    #expect(object["time"] as? String == "2023-11-14T22:13:20.250Z")
    #expect(object["id"] as? Int == 3)
    #expect(object["line"] as? Int == 0)
    #expect(object["url"] as? String == "http://host/a")
  }

  @Test("What became of a file is told in numbers and words")
  func done() throws {
    let event = DownloadEvent(time: Self.time, id: 1, line: 2, url: "u", kind: .done(Self.file))
    let object = try decoded([EventLine(event)])[0]
    #expect(object["file"] as? String == "a.png")
    #expect(object["bytes"] as? Int == 7)
    #expect(object["status"] as? Int == 200)
    #expect(object["attempts"] as? Int == 1)
    #expect(object["seconds"] as? Double == 1.5)
    #expect(object["proof"] as? String == "length")
  }

  @Test("The first line tells what was asked for, the last what came of it")
  func ends() throws {
    var status = DownloadStatus(limit: 3)
    (status.done, status.failed, status.skipped, status.bytes, status.peakInFlight) = (
      4, 3, 2, 9, 3
    )
    let report = DownloadReport(status: status, duration: .milliseconds(250), ending: .listDone)
    let objects = try decoded([.run(limit: 3, output: "a/b"), .summary(report)])
    #expect(Set(objects[0].keys) == ["event", "time", "schema", "version", "limit", "output"])
    #expect(objects[0]["schema"] as? Int == 1)
    #expect(objects[0]["limit"] as? Int == 3)
    #expect(objects[0]["output"] as? String == "a/b")
    #expect(
      Set(objects[1].keys) == [
        "event", "time", "done", "failed", "skipped", "bytes", "seconds", "peakInFlight",
      ])
    #expect(objects[1]["done"] as? Int == 4)
    #expect(objects[1]["failed"] as? Int == 3)
    #expect(objects[1]["skipped"] as? Int == 2)
    #expect(objects[1]["bytes"] as? Int == 9)
    #expect(objects[1]["seconds"] as? Double == 0.25)
    #expect(objects[1]["peakInFlight"] as? Int == 3)
  }

  @Test("Whatever a text holds, a line is one line")
  func oneLine() throws {
    let odd = "a\n\r\u{2028}\u{0}\u{1b}\"\\\u{7f}é😀"
    let event = DownloadEvent(time: Self.time, id: 1, line: 1, url: odd, kind: .started(attempt: 1))
    let text = EventLine.encoded([EventLine(event), EventLine(event)])
    #expect(text.count { $0 == UInt8(ascii: "\n") } == 2)
    #expect(text.allSatisfy { $0 >= 0x20 || $0 == UInt8(ascii: "\n") })
    #expect(try decoded([EventLine(event)])[0]["url"] as? String == odd)
  }

  private func decoded(_ lines: [EventLine]) throws -> [[String: Any]] {
    try EventLine.encoded(lines).split(separator: UInt8(ascii: "\n")).map {
      try #require(try JSONSerialization.jsonObject(with: Data($0)) as? [String: Any])
    }
  }
}
