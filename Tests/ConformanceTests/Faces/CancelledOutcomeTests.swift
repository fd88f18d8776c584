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

  @Test(
    "is what a failure does to those in flight, if it ends the batch", arguments: Carrier.allCases,
    Face.all)
  func failFast(_ carrier: Carrier, _ face: Face) async throws {
    let setting = try FaceSetting(carrier)
    let gate = MisbehavingOrigin.Gate()
    setting.origin.onEverythingElse(.stalled(.inBody, at: gate))
    setting.origin.on(
      "/short",
      MisbehavingOrigin.Behaviour { exchange in
        if !face.isFailFast { gate.open() }
        MisbehavingOrigin.Behaviour.endsEarly(after: 3, of: 10).play(exchange)
      })
    let paths = ["/a", "/b", "/short", "/c", "/d"]
    let outcomes = try await setting.download(paths, by: face)
    let failures = outcomes.compactMap(\.failure)
    #expect(failures.map(\.reason) == [.truncated])
    #expect(failures.first?.url == setting.origin.url("/short"))
    if face.isFailFast {
      #expect(setting.origin.record.requests.count <= 4)
      #expect(setting.files.isEmpty)
    } else {
      #expect(outcomes.count == 5 && setting.origin.record.requests.count == 5)
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
