// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import TestSupport
import Testing

@Suite("Of every face on every transport: another attempt", .timeLimit(.minutes(2)))
struct ResumeOutcomeTests {
  private let bytes = longBody(2_500_000)
  private let tag = "ETag: \"one\""

  @Test(
    "for a long file asks for its rest; in memory for all of it", arguments: Carrier.allCases,
    Face.all)
  func rest(_ carrier: Carrier, _ face: Face) async throws {
    let setting = try FaceSetting(carrier) { $0.retries = 2 }
    let outcome = try await setting.download(
      .inTurn([
        .file(bytes, [tag], upTo: 1_500_000), .file(bytes, [tag], upTo: 2_000_000),
        .file(bytes, [tag]),
      ]), by: face)
    let isSame = outcome.bytes == bytes
    #expect(isSame)
    #expect(outcome.attempts == 3)
    let requests = setting.origin.record.requests
    #expect(requests.count == 3)
    let offsets = requests.map { $0.offset ?? 0 }
    if face.writesFiles {
      // What arrived before a cut is kept, which need not be all that was sent.
      #expect(offsets.first == 0 && offsets.allSatisfy { $0 <= 2_000_000 })
      #expect(offsets == offsets.sorted() && (offsets.last ?? 0) >= 1 << 20)
      #expect(requests.dropFirst().allSatisfy { $0.field("If-Range") == "\"one\"" })
    } else {
      #expect(offsets == [0, 0, 0])
    }
  }

  @Test(
    "for a file that has changed takes all of the new one", arguments: Carrier.allCases, Face.all)
  func changed(_ carrier: Carrier, _ face: Face) async throws {
    let setting = try FaceSetting(carrier) { $0.retries = 1 }
    let other = Array(bytes[1000..<2_400_000])
    let outcome = try await setting.download(
      .inTurn([.file(bytes, [tag], upTo: 1_500_000), .file(other, ["ETag: \"two\""])]), by: face)
    let isSame = outcome.bytes == other
    #expect(isSame)
    #expect(outcome.attempts == 2)
  }

  @Test("waits for as long as the server asks", arguments: Carrier.allCases, Face.all)
  func retryAfter(_ carrier: Carrier, _ face: Face) async throws {
    let setting = try FaceSetting(carrier) { $0.retries = 1 }
    let began = ContinuousClock.now
    let outcome = try await setting.download(
      .inTurn([.answer(503, fields: ["Retry-After: 1"]), .ok("later")]), by: face)
    #expect(outcome.bytes == Array("later".utf8))
    #expect(outcome.attempts == 2)
    #expect(ContinuousClock.now - began >= .seconds(1))
  }

  @Test("is not waited for longer than is wanted", arguments: Carrier.allCases, Face.all)
  func longPause(_ carrier: Carrier, _ face: Face) async throws {
    let setting = try FaceSetting(carrier) { options in
      options.retries = 5
      options.longestPause = .seconds(600)
    }
    let outcome = try await setting.download(
      .answer(429, fields: ["Retry-After: 601"]), by: face)
    #expect(outcome.failure?.status == 429)
    #expect(setting.origin.record.requests.count == 1)
  }
}
