// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import TestSupport
import Testing

extension CommandRuns {
  @Suite("The pace of a run")
  struct PaceRunTests {
    private let setting: RunSetting
    private var origin: MisbehavingOrigin { setting.origin }

    init() throws {
      setting = try RunSetting()
      origin.onEverythingElse(.ok("hello"))
    }

    // MARK: - --rate

    /// When each request came, counted from before there was a run; each is late, and none early.
    private func arrivals(
      _ arguments: [String], count: Int
    ) async throws -> (times: [Duration], CommandRun.Ending) {
      let times = Watched<[Duration]>([])
      let start = ContinuousClock.now
      // What is tried again is a start, too.
      let hurt = MisbehavingOrigin.Behaviour.inTurn([.status(500), .ok("hello")])
      for number in 1...count {
        let answer = number == 1 ? hurt : .ok("hello")
        origin.on(
          "/\(number)",
          MisbehavingOrigin.Behaviour { exchange in
            times.update { $0.append(ContinuousClock.now - start) }
            answer.play(exchange)
          })
      }
      let ending = try await setting.fetch(
        ["-n", "32", "--per-host", "32"] + arguments,
        list: (1...count).map { origin.url("/\($0)") })
      return (times.value.sorted(), ending)
    }

    @Test(
      "No more requests are started than the rate allows, a tenth of a second's at once",
      arguments: [(5, burst: 1, count: 7), (40, burst: 4, count: 40)])
    func rate(perSecond: Int, burst: Int, count: Int) async throws {
      let (times, ending) = try await arrivals(["--rate", "\(perSecond)/s"], count: count)
      #expect(ending.status == 0)
      #expect(times.count == count + 1)
      let early = times.enumerated().filter { index, time in
        time < Duration.seconds(1) * (index + 1 - burst) / perSecond
      }
      #expect(early.isEmpty)
      #expect(setting.files.count == count)
    }

    // MARK: - --limit auto

    @Test("A limit that is found out begins at 8, rises, and does not pass the limit of a host")
    func found() async throws {
      // The last ones wait for each other. Unless the limit has risen they wait for ever, and one more
      // than a host may have would raise the peak.
      let gate = MisbehavingOrigin.Gate(opensAt: 12)
      for number in 1...40 { origin.on("/held\(number)", .held(at: gate, then: .ok("hello"))) }
      let quick = (1...600).map { origin.url("/\($0)") }
      let held = (1...40).map { origin.url("/held\($0)") }
      let ending = try await setting.fetch(
        ["--limit", "auto", "--per-host", "12"], list: quick + held)
      let events = try ending.events
      #expect(ending.status == 0)
      #expect(events.first?.limit == 8)
      #expect(origin.record.peakInFlight == 12)
      #expect(events.last?.peakInFlight == 12)
      #expect(events.last?.done == 640)
    }

    @Test("A limit that is found out never passes 64")
    func foundAtMost() async throws {
      let gate = MisbehavingOrigin.Gate(opensAt: 64)
      for number in 1...200 { origin.on("/held\(number)", .held(at: gate, then: .ok("hello"))) }
      let quick = (1...4000).map { origin.url("/\($0)") }
      let held = (1...200).map { origin.url("/held\($0)") }
      let ending = try await setting.fetch(
        ["--limit", "auto", "--per-host", "200"], list: quick + held)
      #expect(ending.status == 0)
      #expect(origin.record.peakInFlight == 64)
      #expect(try ending.events.last?.done == 4200)
    }

    // MARK: - Open files

    @Test("When fewer files can be open than was thought, less is in flight and nothing fails")
    func scarcity() async throws {
      // The command is told of 200 files, of which most are open already, which it does not know of.
      let script = """
        for number in {10..165}; do eval "exec $number</dev/null"; done
        exec "$0" "$@"
        """
      let list = (1...150).map { origin.url("/\($0)") }
      let ending = try await setting.fetch(
        ["-n", "40", "--per-host", "40", "--retries", "0"], list: list,
        through: ["prlimit", "--nofile=200:200", "bash", "-c", script])
      let events = try ending.events
      #expect(ending.status == 0)
      #expect(events.first?.limit == 40)
      #expect(events.of("failed").isEmpty)
      // Without one that found no room nothing would have been seen here.
      let retries = events.of("retry")
      #expect(!retries.isEmpty)
      // Each lowers the limit, but for those that have begun when the first one finds no room.
      #expect(retries.count < 80)
      #expect(retries.allSatisfy { ["connect", "disk"].contains($0.reason) })
      #expect(retries.allSatisfy { [0, 0.02].contains($0.delay) })
      // It was no attempt of theirs: none had another one.
      #expect(events.of("done").allSatisfy { $0.attempts == 1 })
      #expect(events.last?.done == 150)
      #expect(setting.files.count == 150)
    }
  }
}
