// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import TestSupport
import Testing

@Suite("Of every face on every transport: cancelling", .timeLimit(.minutes(2)))
struct CancelledOutcomeTests {
  @Test("before the call asks for nothing", arguments: Carrier.allCases, Face.all)
  func before(_ carrier: Carrier, _ face: Face) async throws {
    let setting = try FaceSetting(carrier)
    setting.origin.onEverythingElse(.ok("never asked for"))
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await setting.download((0..<10).map { "/\($0)" }, by: face)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(setting.origin.record.requests.isEmpty)
    #expect(setting.files.isEmpty)
  }

  @Test(
    "in flight ends what is there and starts no more", arguments: Carrier.allCases, Face.all)
  func inFlight(_ carrier: Carrier, _ face: Face) async throws {
    for place in MisbehavingOrigin.Place.allCases {
      let setting = try FaceSetting(carrier)
      let gate = MisbehavingOrigin.Gate()
      setting.origin.onEverythingElse(.stalled(place, at: gate))
      let task = Task { try await setting.download((0..<20).map { "/\($0)" }, by: face, limit: 5) }
      await gate.arrivals(5)
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(setting.origin.record.requests.count == 5)
      #expect(setting.files.isEmpty)
      // The transport serves the next call.
      let outcome = try await setting.download(.ok("good"), by: face)
      #expect(outcome.bytes == Array("good".utf8))
    }
  }

  @Test("after the end changes nothing", arguments: Carrier.allCases, Face.all)
  func after(_ carrier: Carrier, _ face: Face) async throws {
    let setting = try FaceSetting(carrier)
    setting.origin.onEverythingElse(.echoingPath)
    let task = Task { try await setting.download(["/a", "/b"], by: face) }
    _ = try await task.value
    task.cancel()
    #expect(try await task.value.map(\.bytes) == [Array("/a".utf8), Array("/b".utf8)])
    #expect(setting.files == (face.writesFiles ? ["a", "b"] : []))
  }
}
