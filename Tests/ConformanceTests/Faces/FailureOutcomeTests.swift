// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import TestSupport
import Testing

@Suite("Of every face on every transport: a failure", .timeLimit(.minutes(2)))
struct FailureOutcomeTests {
  @Test("is every status that brings no file", arguments: Carrier.allCases, Face.all)
  func statuses(_ carrier: Carrier, _ face: Face) async throws {
    let setting = try FaceSetting(carrier)
    for status in [204, 206, 300, 302, 304, 400, 401, 403, 404, 407, 410, 416, 429, 500, 503] {
      let body = [204, 304].contains(status) ? "" : "an error page"
      let outcome = try await setting.download(.status(status, body), by: face)
      #expect(outcome.failure?.reason == .status, "\(status)")
      #expect(outcome.failure?.status == status)
    }
    #expect(setting.files.isEmpty)
  }

  @Test("is a body that is not whole", arguments: Carrier.allCases, Face.all)
  func truncated(_ carrier: Carrier, _ face: Face) async throws {
    let setting = try FaceSetting(carrier)
    var behaviours: [MisbehavingOrigin.Behaviour] = [
      .endsEarly(after: 0, of: 10), .endsEarly(after: 7, of: 10), .chunkedCutOff(["one", "two"]),
    ]
    for place in MisbehavingOrigin.Place.allCases {
      behaviours += [.closes(place), .resets(place)]
    }
    for behaviour in behaviours {
      let outcome = try await setting.download(behaviour, by: face)
      #expect(outcome.failure?.reason == .truncated)
    }
    #expect(setting.files.isEmpty)
  }

  @Test("is an answer that breaks the rules", arguments: Carrier.allCases, Face.all)
  func malformed(_ carrier: Carrier, _ face: Face) async throws {
    let setting = try FaceSetting(carrier)
    for behaviour in [
      .garbage, .hugeHead(1_000_000), .lengths(["6", "3"], body: "123456"),
      .lengths(["3x"], body: "123"), .lengths(["-3"], body: "123"), .lengths([""], body: "123"),
      .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\nzz\r\n"),
      .raw("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nbytes", closing: true),
    ] as [MisbehavingOrigin.Behaviour] {
      let outcome = try await setting.download(behaviour, by: face)
      #expect(outcome.failure?.reason == .protocol)
    }
    #expect(setting.files.isEmpty)
  }

  @Test("may be better the next time", arguments: Carrier.allCases, Face.all)
  func retry(_ carrier: Carrier, _ face: Face) async throws {
    let setting = try FaceSetting(carrier) { $0.retries = 3 }
    let outcome = try await setting.download(
      .inTurn([.endsEarly(after: 3, of: 10), .resets(.beforeHead), .status(502), .ok("at last")]),
      by: face)
    #expect(outcome.bytes == Array("at last".utf8))
    #expect(outcome.attempts == 4)
  }

  @Test("is silence, and an answer that takes too long", arguments: Carrier.allCases, Face.all)
  func timeouts(_ carrier: Carrier, _ face: Face) async throws {
    for (place, timeouts) in [
      (.beforeHead, TransferTimeouts(idle: .milliseconds(500))),
      (.inBody, TransferTimeouts(idle: .milliseconds(500))),
      (.inBody, TransferTimeouts(total: .milliseconds(200))),
    ] as [(MisbehavingOrigin.Place, TransferTimeouts)] {
      let gate = MisbehavingOrigin.Gate()
      let setting = try FaceSetting(carrier) { $0.timeouts = timeouts }
      let outcome = try await setting.download(.stalled(place, at: gate), by: face)
      #expect(outcome.failure?.reason == .timeout)
      #expect(setting.files.isEmpty)
    }
  }

  @Test("is what is not wanted, by its length or its kind", arguments: Carrier.allCases, Face.all)
  func filters(_ carrier: Carrier, _ face: Face) async throws {
    let long = [String](repeating: String(repeating: "x", count: 1000), count: 20)
    func failure(
      _ filter: FileFilter, _ behaviour: MisbehavingOrigin.Behaviour
    ) async throws -> DownloadFailure.Reason? {
      let setting = try FaceSetting(carrier) { $0.filter = filter }
      let outcome = try await setting.download(behaviour, by: face)
      #expect(setting.files.isEmpty == (!face.writesFiles || outcome.failure != nil))
      return outcome.failure?.reason
    }
    let page = Array("<!DOCTYPE html><html></html>".utf8)
    let largest = FileFilter(largest: 10_000)
    let image = FileFilter(kind: .image)
    #expect(try await failure(largest, .ok([UInt8](repeating: 1, count: 10_001))) == .tooLarge)
    #expect(try await failure(largest, .ok([UInt8](repeating: 1, count: 10_000))) == nil)
    #expect(try await failure(largest, .chunked(long)) == .tooLarge)
    #expect(try await failure(FileFilter(smallest: 10), .ok("short")) == .tooSmall)
    #expect(
      try await failure(image, .answer(fields: ["Content-Type: text/html"], page)) == .wrongType)
    #expect(
      try await failure(image, .answer(fields: ["Content-Type: image/png"], page)) == .wrongType)
  }

  @Test("in memory is one byte too many", arguments: Carrier.allCases, Face.all)
  func bound(_ carrier: Carrier, _ face: Face) async throws {
    if face.writesFiles { return }
    let setting = try FaceSetting(carrier, bound: 1000)
    let fits = try await setting.download(.ok([UInt8](repeating: 1, count: 1000)), by: face)
    #expect(fits.bytes?.count == 1000)
    for behaviour in [
      .ok([UInt8](repeating: 1, count: 1001)), .chunked([String(repeating: "x", count: 1001)]),
    ] as [MisbehavingOrigin.Behaviour] {
      #expect(try await setting.download(behaviour, by: face).failure?.reason == .tooLarge)
    }
  }
}
