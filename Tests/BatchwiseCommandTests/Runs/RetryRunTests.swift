// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import TestSupport
import Testing

extension CommandRuns {
  @Suite("Trying again")
  struct RetryRunTests {
    private let setting: RunSetting
    private var origin: MisbehavingOrigin { setting.origin }

    init() throws {
      setting = try RunSetting()
      origin.onEverythingElse(.ok("hello"))
    }

    @Test("What may be better the next time is tried again, and nothing else is")
    func statuses() async throws {
      let again = [408, 425, 500, 502, 504, 520, 521, 522, 523, 524]
      let final = [204, 205, 206, 400, 401, 403, 404, 405, 410, 416, 418, 451, 501, 505, 511, 599]
      let all = again + final
      for status in all { origin.on("/\(status)", .inTurn([.status(status), .ok("hello")])) }
      let list = all.map { origin.url("/\($0)") }
      let ending = try await setting.fetch(["-n", "32", "--per-host", "32"], list: list)
      let events = try ending.events
      #expect(ending.status == 1)
      #expect(events.endedIDs == Array(1...all.count))
      for status in again {
        let url = origin.url("/\(status)")
        #expect(events.story(of: url) == ["started", "retry", "started", "done"], "\(status)")
        #expect(events.ending(of: url)?.attempts == 2)
        let retry = try #require(events.of("retry").first { $0.url == url })
        #expect(retry.reason == "status" && retry.attempt == 2)
      }
      #expect(events.of("retry").compactMap(\.status).sorted() == again)
      for status in final {
        let url = origin.url("/\(status)")
        #expect(events.story(of: url) == ["started", "failed"], "\(status)")
        let failed = events.ending(of: url)
        #expect(failed?.reason == "status" && failed?.status == status && failed?.attempts == 1)
        #expect(origin.record.count(of: "/\(status)") == 1)
      }
      #expect(setting.files == again.map(String.init))
    }

    @Test("What breaks off, is reset or answered with nothing is tried again")
    func broken() async throws {
      let answers: [String: MisbehavingOrigin.Behaviour] = [
        "short": .endsEarly(after: 3, of: 10), "reset": .resets(.inBody), "cut": .closes(.inBody),
        "chunks": .chunkedCutOff(["abc"]), "empty": .closes(.beforeHead),
        "refused": .resets(.beforeHead), "head": .closes(.inHead),
      ]
      for (name, answer) in answers { origin.on("/\(name)", .inTurn([answer, .ok("hello")])) }
      let list = answers.keys.sorted().map { origin.url("/\($0)") }
      let ending = try await setting.fetch(["-n", "16", "--per-host", "16"], list: list)
      let events = try ending.events
      #expect(ending.status == 0)
      for name in answers.keys {
        let url = origin.url("/\(name)")
        #expect(events.story(of: url) == ["started", "retry", "started", "done"], "\(name)")
        #expect(events.ending(of: url)?.attempts == 2, "\(name)")
        setting.expect(Array("hello".utf8), as: name)
      }
    }

    @Test("As often as was said and with growing pauses, and then it has failed")
    func exhausted() async throws {
      origin.on("/a", .status(500))
      let ending = try await setting.fetch(["--retries", "2"], list: [origin.url("/a")])
      let events = try ending.events
      #expect(ending.status == 1)
      #expect(
        events.dropFirst().dropLast().map(\.event)
          == ["started", "retry", "started", "retry", "started", "failed"])
      #expect(events.of("started").compactMap(\.attempt) == [1, 2, 3])
      #expect(events.of("retry").compactMap(\.attempt) == [2, 3])
      #expect(events.of("failed").compactMap(\.attempts) == [3])
      #expect(origin.record.requests.count == 3)
      // A pause is what was told, and a little more.
      let pauses = events.of("retry").compactMap(\.delay)
      #expect(pauses.count == 2 && pauses.allSatisfy { $0 > 0 })
      for (retry, started) in zip(events.of("retry"), events.of("started").dropFirst()) {
        #expect(try started.date.timeIntervalSince(retry.date) > (retry.delay ?? 0) - 0.01)
      }
    }

    @Test("Without retries each item is asked for once")
    func none() async throws {
      origin.on("/1", .status(500))
      origin.on("/2", .resets(.inBody))
      origin.on("/3", .status(503))
      let list = (1...3).map { origin.url("/\($0)") }
      let ending = try await setting.fetch(["--retries", "0"], list: list)
      #expect(ending.status == 1)
      #expect(try ending.events.of("retry").isEmpty)
      #expect(try ending.events.of("failed").compactMap(\.attempts) == [1, 1, 1])
      #expect(origin.record.requests.count == 3)
    }

    @Test("A wrong checksum is tried once more, however many retries there are, and then final")
    func checksum() async throws {
      let right = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
      origin.on("/wrong", .ok("other"))
      origin.on("/better", .inTurn([.ok("other"), .ok("hello")]))
      origin.on("/moody", .inTurn([.ok("other"), .status(500), .ok("other")]))
      let names = ["wrong", "better", "moody", "right"]
      let list = names.map { #"{"url":"\#(origin.url("/\($0)"))","sha256":"\#(right)"}"# }
      let ending = try await setting.fetch(list: list)
      let events = try ending.events
      #expect(ending.status == 1)
      let wrong = events.ending(of: origin.url("/wrong"))
      #expect(wrong?.reason == "checksum" && wrong?.attempts == 2)
      #expect(origin.record.count(of: "/wrong") == 2)
      let better = events.ending(of: origin.url("/better"))
      #expect(better?.proof == "checksum" && better?.attempts == 2)
      let moody = events.ending(of: origin.url("/moody"))
      #expect(moody?.reason == "checksum" && moody?.attempts == 3)
      #expect(events.ending(of: origin.url("/right"))?.attempts == 1)
      setting.expectOnly(["better": Array("hello".utf8), "right": Array("hello".utf8)])
    }

    // MARK: - Hosts that ask to be left alone

    @Test("The whole host is left alone for as long as it asks, in seconds or by a date")
    func retryAfter() async throws {
      let date = "Date: Thu, 01 Jan 2026 00:00:00 GMT"
      let answers = [
        (429, ["Retry-After: 1"]), (503, ["Retry-After: 1"]), (502, ["Retry-After: 1"]),
        (429, [date, "Retry-After: Thu, 01 Jan 2026 00:00:01 GMT"]),
      ]
      let origins = try answers.map { status, fields in
        let origin = try MisbehavingOrigin()
        origin.onEverythingElse(.ok("hello"))
        origin.on("/1", .inTurn([.answer(status, fields: fields), .ok("hello")]))
        return origin
      }
      let list = origins.flatMap { origin in (1...6).map { origin.url("/\($0)") } }
      let ending = try await setting.fetch(["-n", "8", "--per-host", "1"], list: list)
      #expect(ending.status == 0)
      for (origin, answer) in zip(origins, answers) {
        let events = try ending.events.filter { $0.url?.hasPrefix(origin.url()) == true }
        let retry = try #require(events.of("retry").first)
        #expect(events.of("retry").count == 1)
        #expect(retry.status == answer.0)
        #expect(retry.delay ?? 0 >= 1)
        // Whoever's turn it is: the host is asked for nothing until then.
        let later = events.of("started").dropFirst()
        #expect(later.count == 6)
        for event in later { #expect(try event.date.timeIntervalSince(retry.date) > 0.99) }
        #expect(events.of("done").compactMap(\.attempts).sorted() == [1, 1, 1, 1, 1, 2])
      }
    }

    @Test("A wish that is over or cannot be read is none, and the item is tried again")
    func noWish() async throws {
      let date = "Date: Thu, 01 Jan 2026 00:00:00 GMT"
      let wishes = [
        ["Retry-After: 0"], ["Retry-After: soon"], ["Retry-After: -5"], ["Retry-After:"],
        [date, "Retry-After: Thu, 01 Jan 2015 00:00:00 GMT"],
      ]
      let origins = try wishes.map { fields in
        let origin = try MisbehavingOrigin()
        origin.on("/1", .inTurn([.answer(503, fields: fields), .ok("hello")]))
        return origin
      }
      let ending = try await setting.fetch(list: origins.map { $0.url("/1") })
      #expect(ending.status == 0)
      #expect(try ending.events.of("retry").count == wishes.count)
      #expect(try ending.events.of("retry").allSatisfy { ($0.delay ?? 9) < 5 })
      #expect(try ending.events.of("done").allSatisfy { $0.attempts == 2 })
    }

    @Test("A wish that is longer than the run may take fails the item at once")
    func tooLong() async throws {
      origin.on("/1", .answer(429, fields: ["Retry-After: 3600"]))
      origin.on("/2", .answer(503, fields: ["Retry-After: 1000000000"]))
      let other = try MisbehavingOrigin()
      other.onEverythingElse(.answer(503, fields: ["Retry-After: 1000000000"]))
      // An hour is the longest that is waited for in any case.
      let endless = try await setting.fetch(list: [other.url("/2")])
      #expect(endless.status == 1)
      let ending = try await setting.fetch(["--max-time", "30"], list: [origin.url("/1")])
      #expect(ending.status == 1)
      for events in try [endless.events, ending.events] {
        #expect(events.dropFirst().dropLast().map(\.event) == ["started", "failed"])
        #expect(events.of("failed").first?.attempts == 1)
      }
      #expect(try ending.events.of("failed").first?.status == 429)
    }

    @Test("A host that is left alone holds up no other, not even with one in flight")
    func otherHosts() async throws {
      let hurt = try MisbehavingOrigin()
      hurt.onEverythingElse(.answer(503, fields: ["Retry-After: 30"]))
      let list = (1...700).map { hurt.url("/\($0)") } + (1...60).map { origin.url("/\($0)") }
      let unfinished = setting.folder.path + "/unfinished"
      let run = try setting.start(
        ["-n", "1", "--unfinished", unfinished], list: list + [hurt.url("/last")])
      await run.wait(for: #""event":"done""#, times: 60)
      run.send(SIGINT)
      let ending = await run.ending
      #expect(ending.status == 130)
      #expect(hurt.record.requests.count == 1)
      #expect(origin.record.requests.count == 60)
      #expect(try ending.events.of("done").count == 60)
      #expect(try ending.events.of("failed").isEmpty)
      #expect(setting.files.count == 60)
      let left = try String(contentsOfFile: unfinished, encoding: .utf8)
      #expect(left.split(separator: "\n").count == 701)
    }
  }
}
