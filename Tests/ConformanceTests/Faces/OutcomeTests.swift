// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import TestSupport
import Testing

@Suite("Of every face on every transport: outcomes", .timeLimit(.minutes(2)))
struct OutcomeTests {
  @Test(
    "come for every request, in the order of the list, with the bytes of each",
    arguments: Carrier.allCases, Face.all)
  func order(_ carrier: Carrier, _ face: Face) async throws {
    let setting = try FaceSetting(carrier)
    let gate = MisbehavingOrigin.Gate()
    let origin = setting.origin
    origin.onEverythingElse(.echoingPath)
    // The first one ends last.
    origin.on("/0", .held(at: gate, then: .echoingPath))
    origin.on(
      "/59",
      MisbehavingOrigin.Behaviour { exchange in
        gate.open()
        MisbehavingOrigin.Behaviour.echoingPath.play(exchange)
      })
    let paths = (0..<60).map { "/\($0)" }
    let outcomes = try await setting.download(paths, by: face)
    #expect(outcomes.map(\.bytes) == paths.map { Array($0.utf8) })
    #expect(outcomes.allSatisfy { $0.attempts == 1 && $0.isMeasured })
    #expect(origin.record.requests.count == 60)
    #expect(setting.files.count == (face.writesFiles ? 60 : 0))
  }

  @Test("are there for equal requests too", arguments: Carrier.allCases, Face.all)
  func duplicates(_ carrier: Carrier, _ face: Face) async throws {
    let setting = try FaceSetting(carrier)
    setting.origin.onEverythingElse(.echoingPath)
    let gate = MisbehavingOrigin.Gate()
    // All equal ones are on their way together.
    setting.origin.on("/a", .held(at: gate, then: .echoingPath))
    setting.origin.on(
      "/c",
      MisbehavingOrigin.Behaviour { exchange in
        gate.open()
        MisbehavingOrigin.Behaviour.echoingPath.play(exchange)
      })
    let paths = ["/a", "/b", "/a", "/a", "/c", "/b"]
    let outcomes = try await setting.download(paths, by: face)
    #expect(outcomes.map(\.bytes) == paths.map { Array($0.utf8) })
    #expect(setting.origin.record.count(of: "/a") == 1)
  }

  @Test(
    "bring bodies of every length and kind, byte for byte", arguments: Carrier.allCases, Face.all)
  func bytes(_ carrier: Carrier, _ face: Face) async throws {
    let setting = try FaceSetting(carrier)
    var bodies = [0, 1, 4095, 65_536, 65_537, 1_500_000].map(longBody)
    for (number, body) in bodies.enumerated() { setting.origin.on("/\(number)", .ok(body)) }
    setting.origin.on("/6", .chunked(["some ", "chunks"]))
    setting.origin.on("/7", .untilClose("to the end"))
    setting.origin.on("/8", .interim([100, 103], then: .ok("after two")))
    bodies += ["some chunks", "to the end", "after two"].map { Array($0.utf8) }
    let outcomes = try await setting.download(bodies.indices.map { "/\($0)" }, by: face)
    #expect(outcomes.count == bodies.count)
    for (outcome, body) in zip(outcomes, bodies) {
      // Compared outside of #expect, which would look for the shortest way from one to the other.
      let isSame = outcome.bytes == body
      #expect(isSame)
    }
    #expect(outcomes.map(\.isMeasured) == bodies.indices.map { $0 != 7 })
  }

  @Test(
    "have exactly the limit in flight, as the origin counts", arguments: Carrier.allCases, Face.all)
  func peak(_ carrier: Carrier, _ face: Face) async throws {
    for limit in [1, 3, 16] {
      let setting = try FaceSetting(carrier)
      // Nobody is answered before so many are there.
      let gate = MisbehavingOrigin.Gate(opensAt: limit)
      setting.origin.onEverythingElse(.held(at: gate, then: .echoingPath))
      let paths = (0..<100).map { "/\($0)" }
      let outcomes = try await setting.download(paths, by: face, limit: limit)
      #expect(outcomes.map(\.bytes) == paths.map { Array($0.utf8) })
      #expect(setting.origin.record.peakInFlight == limit)
    }
  }

  @Test(
    "of a list with a failure are that failure, or one for each request",
    arguments: Carrier.allCases, Face.all)
  func failure(_ carrier: Carrier, _ face: Face) async throws {
    let setting = try FaceSetting(carrier)
    setting.origin.onEverythingElse(.echoingPath)
    setting.origin.on("/10", .status(404, "not here"))
    let paths = (0..<30).map { "/\($0)" }
    let outcomes = try await setting.download(paths, by: face)
    let failures = outcomes.compactMap(\.failure)
    #expect(failures.map(\.status) == [404])
    #expect(failures.first?.url == setting.origin.url("/10"))
    if face.isFailFast {
      #expect(outcomes.count == 1)
    } else {
      #expect(outcomes.count == 30 && outcomes[10].failure != nil)
      #expect(outcomes.compactMap(\.bytes).count == 29)
    }
  }

  @Test("of an empty list are none", arguments: Carrier.allCases, Face.all)
  func empty(_ carrier: Carrier, _ face: Face) async throws {
    let setting = try FaceSetting(carrier)
    #expect(try await setting.download([String](), by: face).isEmpty)
    #expect(setting.origin.record.connections == 0)
  }
}
