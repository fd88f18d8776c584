// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import TestSupport
import Testing

extension CommandRuns {
  @Suite("The limit of each host")
  struct HostRunTests {
    private let setting: RunSetting
    private let other: MisbehavingOrigin
    private var origin: MisbehavingOrigin { setting.origin }

    init() throws {
      setting = try RunSetting()
      other = try MisbehavingOrigin()
    }

    @Test("The peak that each origin sees equals it", arguments: [1, 2, 5])
    func peak(limit: Int) async throws {
      // So many must be there at once, or the gates never open; one more would raise the peak.
      for origin in [origin, other] {
        let gate = MisbehavingOrigin.Gate(opensAt: limit)
        origin.onEverythingElse(.held(at: gate, then: .ok("hello")))
      }
      let list = (1...(limit * 6)).flatMap { [origin.url("/a\($0)"), other.url("/b\($0)")] }
      let ending = try await setting.fetch(["-n", "32", "--per-host", "\(limit)"], list: list)
      #expect(ending.status == 0)
      #expect(origin.record.peakInFlight == limit)
      #expect(other.record.peakInFlight == limit)
      #expect(setting.files.count == list.count)
    }

    @Test("The limit over all holds as well, and hosts that have room do not wait for others")
    func overAll() async throws {
      let gate = MisbehavingOrigin.Gate(opensAt: 3)
      origin.onEverythingElse(.held(at: gate, then: .ok("hello")))
      other.onEverythingElse(.held(at: gate, then: .ok("hello")))
      // The first host fills its two places, and those of it that wait are passed by.
      let list = (1...20).map { origin.url("/a\($0)") } + (1...20).map { other.url("/b\($0)") }
      let ending = try await setting.fetch(["-n", "3", "--per-host", "2"], list: list)
      #expect(ending.status == 0)
      #expect(try ending.events.last?.peakInFlight == 3)
      #expect(origin.record.peakInFlight <= 2 && other.record.peakInFlight <= 2)
    }

    @Test("What is redirected to another host falls under that host's limit")
    func redirected() async throws {
      let gate = MisbehavingOrigin.Gate(opensAt: 2)
      other.onEverythingElse(.held(at: gate, then: .ok("hello")))
      for number in 1...16 { origin.on("/\(number)", .redirect(to: other.url("/\(number)"))) }
      let list = (1...16).map { origin.url("/\($0)") }
      let ending = try await setting.fetch(["-n", "16", "--per-host", "2"], list: list)
      #expect(ending.status == 0)
      #expect(other.record.peakInFlight == 2)
      #expect(origin.record.peakInFlight <= 2)
      #expect(try ending.events.of("started").count == 16)
      #expect(setting.files.count == 16)
    }

    @Test("A redirect to a host that is left alone waits without a permit, and begins again")
    func redirectedToHurt() async throws {
      other.on("/1", .inTurn([.answer(503, fields: ["Retry-After: 1"]), .ok("hello")]))
      other.onEverythingElse(.ok("hello"))
      for number in 1...3 { origin.on("/\(number)", .redirect(to: other.url("/\(number)"))) }
      origin.onEverythingElse(.ok("hello"))
      let list = (1...20).map { origin.url("/\($0)") }
      let ending = try await setting.fetch(["-n", "1"], list: list)
      let events = try ending.events
      #expect(ending.status == 0)
      let retry = try #require(events.of("retry").first)
      #expect(events.of("retry").count == 1)
      #expect(retry.status == 503)
      let first = try #require(events.ending(of: list[0]))
      #expect(first.attempts == 2)
      // The home of them all has refused nothing and was not waited for.
      #expect(
        events.of("done").prefix(17).compactMap(\.url).sorted() == list[3...].map { $0 }.sorted())
      #expect(setting.files.count == 20)
    }

    @Test("Scheme, name and port make a host, whichever way the address is written")
    func sameHost() async throws {
      let gate = MisbehavingOrigin.Gate(opensAt: 2)
      origin.onEverythingElse(.held(at: gate, then: .ok("hello")))
      let port = origin.port
      let list = (1...4).flatMap {
        [
          "http://127.0.0.1:\(port)/a\($0)", "HTTP://127.0.0.1:\(port)/b\($0)",
          "http://me@127.0.0.1:\(port)/c\($0)", "http://127.0.0.1:0\(port)/d\($0)",
        ]
      }
      let ending = try await setting.fetch(["-n", "16", "--per-host", "2"], list: list)
      #expect(ending.status == 0)
      #expect(origin.record.peakInFlight == 2)
    }
  }
}
