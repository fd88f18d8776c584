// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import SQLiteJournal
import TestSupport
import Testing

extension CommandRuns {
  @Suite("Going on with what has broken off")
  struct ResumeRunTests {
    /// Two states of one file, long enough to be worth keeping a part of.
    private static let (first, second) = {
      var generator = SeededGenerator(seed: 1)
      return (generator.bytes(2_000_000), generator.bytes(2_000_000))
    }()
    private static let tag = ["ETag: \"1\""]
    private static let long = "Thu, 01 Jan 2026 00:00:00 GMT"

    private let setting: RunSetting
    private let gate = MisbehavingOrigin.Gate()
    private var origin: MisbehavingOrigin { setting.origin }
    private var first: [UInt8] { Self.first }
    private var second: [UInt8] { Self.second }

    init() throws { setting = try RunSetting() }

    // MARK: - Within a run

    /// What an origin does the first time and afterwards, and what has to come of it.
    struct Case: Sendable, CustomTestStringConvertible {
      var testDescription: String
      /// Where each further request has to begin; 0 for one without a range.
      var offsets: [Int]
      var file: [UInt8]
      var proof = "length"
      var answers: [MisbehavingOrigin.Behaviour]
    }

    private static let cut = 1_800_000
    private static let broken = MisbehavingOrigin.Behaviour.answer(fields: tag, first, upTo: cut)

    private static let cases = [
      Case(
        testDescription: "A good server sends the rest", offsets: [cut], file: first,
        answers: [.file(first, tag, upTo: cut), .file(first, tag)]),
      Case(
        testDescription: "The rest breaks off too", offsets: [cut, cut + 100_000], file: first,
        answers: [
          .file(first, tag, upTo: cut), .file(first, tag, upTo: cut + 100_000), .file(first, tag),
        ]),
      Case(
        testDescription: "A time of change long ago will do", offsets: [cut], file: first,
        answers: [
          .file(first, ["Date: \(Self.later)", "Last-Modified: \(Self.long)"], upTo: cut),
          .file(first, ["Date: \(Self.later)", "Last-Modified: \(Self.long)"]),
        ]),
      Case(
        testDescription: "The total is not told", offsets: [cut], file: first,
        answers: [
          broken,
          .answer(
            206, fields: tag + ["Content-Range: bytes \(cut)-1999999/*"], Array(first[cut...])),
        ]),
      Case(
        testDescription: "The range is ignored", offsets: [cut], file: first,
        answers: [broken, .answer(fields: tag, first)]),
      Case(
        testDescription: "The file has changed", offsets: [cut], file: second,
        answers: [broken, .file(second, ["ETag: \"2\""])]),
      Case(
        testDescription: "The file has changed and is short", offsets: [cut],
        file: Array("short".utf8), answers: [broken, .file(Array("short".utf8), ["ETag: \"2\""])]),
      Case(
        testDescription: "It has changed, and breaks off as well", offsets: [cut, 1_500_000],
        file: second,
        answers: [
          broken, .file(second, ["ETag: \"2\""], upTo: 1_500_000), .file(second, ["ETag: \"2\""]),
        ]),
      Case(
        testDescription: "The rest begins elsewhere", offsets: [cut, 0], file: first,
        answers: [broken, .rest(of: first, from: cut - 10), .answer(fields: tag, first)]),
      Case(
        testDescription: "The total is another one", offsets: [cut, 0], file: first,
        answers: [
          broken,
          .answer(
            206, fields: ["Content-Range: bytes \(cut)-1999999/2000001"], Array(first[cut...])),
          .answer(fields: tag, first),
        ]),
      Case(
        testDescription: "The rest is not as long as its range", offsets: [cut, 0], file: first,
        answers: [
          broken,
          .answer(
            206, fields: ["Content-Range: bytes \(cut)-1999999/2000000"],
            Array(first[cut..<1_900_000])),
          .answer(fields: tag, first),
        ]),
      Case(
        testDescription: "The rest stops short of the end", offsets: [cut, 0], file: first,
        answers: [
          broken,
          .answer(
            206, fields: ["Content-Range: bytes \(cut)-1899999/2000000"],
            Array(first[cut..<1_900_000])),
          .answer(fields: tag, first),
        ]),
      Case(
        testDescription: "The range is missing", offsets: [cut, 0], file: first,
        answers: [
          broken, .answer(206, fields: [], Array(first[cut...])), .answer(fields: tag, first),
        ]),
      Case(
        testDescription: "The range cannot be read", offsets: [cut, 0], file: first,
        answers: [
          broken,
          .answer(206, fields: ["Content-Range: bytes all of them"], Array(first[cut...])),
          .answer(fields: tag, first),
        ]),
      Case(
        testDescription: "Several ranges are sent", offsets: [cut, 0], file: first,
        answers: [
          broken,
          .answer(
            206, fields: ["Content-Type: multipart/byteranges; boundary=x"],
            Array("--x\r\nContent-Range: bytes 1800000-1999999/2000000\r\n\r\n--x--".utf8)),
          .answer(fields: tag, first),
        ]),
      Case(
        testDescription: "All of it is sent as a part", offsets: [cut, 0], file: first,
        answers: [
          broken,
          .answer(206, fields: ["Content-Range: bytes 0-1999999/2000000"], first),
          .answer(fields: tag, first),
        ]),
      Case(
        testDescription: "There is no rest, for the file is shorter by now", offsets: [cut, 0],
        file: Array(second[..<1_200_000]),
        answers: [
          broken, .answer(416, fields: ["Content-Range: bytes */1200000"]),
          .file(Array(second[..<1_200_000]), ["ETag: \"2\""]),
        ]),
      Case(
        testDescription: "There is no rest, and no word of the length", offsets: [cut, 0],
        file: first, answers: [broken, .answer(416), .answer(fields: tag, first)]),
      Case(
        testDescription: "What has come was all, and that is said now", offsets: [cut],
        file: Array(first[..<cut]),
        answers: [broken, .answer(416, fields: tag + ["Content-Range: bytes */\(cut)"])]),
      Case(
        testDescription: "A weak tag proves nothing", offsets: [0], file: second,
        answers: [
          .file(first, ["ETag: W/\"1\""], upTo: cut), .file(second, ["ETag: W/\"1\""]),
        ]),
      Case(
        testDescription: "A time of change just now proves nothing", offsets: [0], file: second,
        answers: [
          .file(first, ["Date: \(soon)", "Last-Modified: \(long)"], upTo: cut),
          .file(second, ["Date: \(soon)", "Last-Modified: \(long)"]),
        ]),
      Case(
        testDescription: "Without a name for its state it begins anew", offsets: [0], file: second,
        answers: [.answer(fields: [], first, upTo: cut), .answer(fields: [], second)]),
      Case(
        testDescription: "Little is not worth it", offsets: [0], file: first,
        answers: [.file(first, tag, upTo: 900_000), .file(first, tag)]),
      Case(
        testDescription: "An error for the rest does not harm what is there",
        offsets: [cut, cut, cut], file: first,
        answers: [
          .file(first, tag, upTo: cut), .status(500, "no"), .resets(.beforeHead), .file(first, tag),
        ]),
      Case(
        testDescription: "What breaks off before it is longer does not harm what is there",
        offsets: [cut, cut], file: first,
        answers: [
          .file(first, tag, upTo: cut), .answer(fields: ["ETag: \"2\""], second, upTo: 500_000),
          .file(first, tag),
        ]),
      Case(
        testDescription: "The rest of a body in chunks", offsets: [1_500_000], file: first,
        answers: [
          MisbehavingOrigin.Behaviour { exchange in
            exchange.send(
              "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nTransfer-Encoding: chunked\r\n\r\n1e8480\r\n")
            exchange.send(Array(first[..<1_500_000]))
            exchange.close()
          }, .file(first, tag),
        ]),
    ]

    private static let later = "Thu, 01 Jan 2026 00:01:00 GMT"
    private static let soon = "Thu, 01 Jan 2026 00:00:59 GMT"

    @Test("The file is the right one and no piece of another, whatever a server answers")
    func withinRun() async throws {
      // All at once, for each waits half a second and more before it asks again.
      for (number, this) in Self.cases.enumerated() {
        origin.on("/\(number)", .inTurn(this.answers))
      }
      let list = Self.cases.indices.map { origin.url("/\($0)") }
      let ending = try await setting.fetch(["-n", "64", "--per-host", "64"], list: list)
      let events = try ending.events
      let requests = origin.record.requests
      for (number, this) in Self.cases.enumerated() {
        let comment = Comment(rawValue: this.testDescription)
        let done = events.ending(of: list[number])
        #expect(done?.event == "done", comment)
        #expect(done?.bytes == this.file.count, comment)
        #expect(done?.proof == "length", comment)
        setting.expect(this.file, as: "\(number)", comment)
        let mine = requests.filter { $0.path == "/\(number)" }
        let retries = events.of("retry").filter { $0.url == list[number] }.compactMap(\.message)
        #expect(
          mine.dropFirst().map { $0.offset ?? 0 } == this.offsets,
          "\(this.testDescription): \(retries)")
        for request in mine {
          #expect((request.field("Range") == nil) == (request.field("If-Range") == nil), comment)
        }
      }
      #expect(ending.status == 0, "\(ending.errors)")
      if ending.status != 0 { print(ending.output) }
      #expect(setting.files.count == Self.cases.count)
      #expect(setting.partials.isEmpty)
    }

    // MARK: - From run to run

    @Test("A killed run is gone on with, byte for byte, and the digest is that of the whole")
    func killed() async throws {
      try await leavePart()
      let kept = try #require(setting.partialSize)
      origin.on("/a", .file(first, Self.tag))
      let ending = try await setting.fetch(list: [origin.url("/a")])
      #expect(ending.status == 0)
      let request = try #require(origin.record.requests.last)
      #expect(request.offset == kept)
      #expect(request.field("If-Range") == "\"1\"")
      setting.expectOnly(["a": first])
      let done = try #require(try ending.events.of("done").first)
      #expect(done.bytes == first.count)
      #expect(done.sha256?.count == 64)
      // The same digest as that of a file that came in one piece.
      let other = try RunSetting(origin)
      let whole = try await other.fetch(list: [origin.url("/a")])
      #expect(try whole.events.of("done").first?.sha256 == done.sha256)
    }

    @Test("A killed run that fetched what was done is gone on with, and takes the old file's place")
    func killedWhileReplacing() async throws {
      origin.on("/a", .file(second, ["ETag: \"0\""]))
      #expect(try await setting.fetch(list: [origin.url("/a")]).status == 0)
      try await leavePart(["--fresh"])
      setting.expect(second, as: "a")
      let kept = try #require(setting.partialSize)
      origin.on("/a", .file(first, Self.tag))
      #expect(try await setting.fetch(list: [origin.url("/a")]).status == 0)
      #expect(origin.record.requests.last?.offset == kept)
      setting.expectOnly(["a": first])
      #expect(setting.partials.isEmpty)
    }

    @Test("What failed while it was fetched anew still takes its old file's place")
    func failedWhileReplacing() async throws {
      origin.on("/a", .file(second, ["ETag: \"0\""]))
      #expect(try await setting.fetch(list: [origin.url("/a")]).status == 0)
      origin.on("/a", .status(404))
      #expect(try await setting.fetch(["--fresh"], list: [origin.url("/a")]).status == 1)
      setting.expectOnly(["a": second])
      origin.on("/a", .file(first, Self.tag))
      #expect(try await setting.fetch(["--retry-failed"], list: [origin.url("/a")]).status == 0)
      setting.expectOnly(["a": first])
    }

    @Test("A part of a new state leaves the part of the old one alone until it is recorded")
    func partsOfTwoStates() async throws {
      try await leavePart()
      let new = MisbehavingOrigin.Gate()
      let tag = ["ETag: \"2\""]
      origin.on("/a", .answer(fields: tag, second, upTo: 1_600_000, heldAt: new))
      let run = try setting.start(list: [origin.url("/a")])
      await new.arrivals(1)
      try await setting.waitForPart(of: 1_600_000, in: run)
      await setting.kill(run)
      origin.on("/a", .file(second, tag))
      #expect(try await setting.fetch(list: [origin.url("/a")]).status == 0)
      #expect(origin.record.requests.last?.offset == 1_600_000)
      setting.expectOnly(["a": second])
      #expect(setting.partials.isEmpty)
    }

    @Test("A file that has changed between two runs is entirely the new one")
    func changedBetweenRuns() async throws {
      try await leavePart()
      for new in [second, Array(second[..<500])] {
        origin.on("/a", .file(new, ["ETag: \"2\""]))
        let ending = try await setting.fetch(["--fresh"], list: [origin.url("/a")])
        #expect(ending.status == 0)
        setting.expectOnly(["a": new])
      }
    }

    @Test("A short new state leaves nothing of the long old one behind")
    func shortened() async throws {
      try await leavePart()
      let new = Array(second[..<500])
      origin.on("/a", .file(new, ["ETag: \"2\""]))
      let ending = try await setting.fetch(list: [origin.url("/a")])
      #expect(ending.status == 0)
      #expect(origin.record.requests.last?.offset != nil)
      setting.expectOnly(["a": new])
    }

    @Test("A refused resume leaves the part untouched, and trying again goes on from there")
    func refused() async throws {
      try await leavePart()
      let kept = try #require(setting.partialSize)
      origin.on("/a", .status(503))
      let failed = try await setting.fetch(["--retries", "0"], list: [origin.url("/a")])
      #expect(failed.status == 1)
      #expect(setting.partialSize == kept)
      let count = origin.record.requests.count
      #expect(try await setting.fetch(list: [origin.url("/a")]).status == 1)
      #expect(origin.record.requests.count == count)
      #expect(setting.partialSize == kept)
      origin.on("/a", .file(first, Self.tag))
      let retried = try await setting.fetch(["--retry-failed"], list: [origin.url("/a")])
      #expect(retried.status == 0)
      #expect(origin.record.requests.last?.offset == kept)
      setting.expectOnly(["a": first])
    }

    @Test("What was tried again and interrupted is tried in the next run without being told")
    func retriedAndInterrupted() async throws {
      try await leavePart()
      origin.on("/a", .status(410))
      #expect(try await setting.fetch(list: [origin.url("/a")]).status == 1)
      let second = MisbehavingOrigin.Gate()
      origin.on("/a", .held(at: second, then: .status(503)))
      let run = try setting.start(["--retry-failed"], list: [origin.url("/a")])
      await second.arrivals(1)
      run.send(SIGINT)
      #expect(await run.ending.status == 130)
      origin.on("/a", .file(first, Self.tag))
      #expect(try await setting.fetch(list: [origin.url("/a")]).status == 0)
      setting.expectOnly(["a": first])
    }

    @Test("A part that is whole is asked about, and not fetched again")
    func wholePart() async throws {
      origin.on("/a", .answer(fields: Self.tag, first + [0], upTo: first.count, heldAt: gate))
      let run = try setting.start(list: [origin.url("/a")])
      try await setting.waitForJournal(run) { $0.partial == 1 }
      try await setting.waitForPart(of: first.count, in: run)
      await setting.kill(run)
      origin.on("/a", .file(first, Self.tag))
      let small = try await setting.fetch(["--max-size", "1M"], list: [origin.url("/a")])
      #expect(try small.events.of("failed").map(\.reason) == ["too-large"])
      #expect(setting.files.isEmpty)
      let ending = try await setting.fetch(["--retry-failed"], list: [origin.url("/a")])
      #expect(try ending.events.of("done").map(\.status) == [206])
      setting.expectOnly(["a": first])
    }

    @Test("A part longer than the file ever was is thrown away")
    func tooLongPart() async throws {
      try await leavePart()
      let name = try #require(setting.partials.first)
      try setting.folder.write(second + second, to: "o/.batchwise/\(name)")
      origin.on("/a", .file(first, Self.tag))
      #expect(try await setting.fetch(list: [origin.url("/a")]).status == 0)
      #expect(origin.record.requests.last?.offset == nil)
      setting.expectOnly(["a": first])
    }

    @Test("A part that is gone, or something else by now, is no part", arguments: [0, 1, 2])
    func noPart(kind: Int) async throws {
      try await leavePart()
      let path = setting.output + "/.batchwise/" + (try #require(setting.partials.first))
      try FileManager.default.removeItem(atPath: path)
      try setting.folder.write(Array("precious".utf8), to: "precious")
      switch kind {
      case 1:
        try FileManager.default.createSymbolicLink(
          atPath: path, withDestinationPath: "../../precious")
      case 2: try Data().write(to: URL(filePath: path))
      default: break
      }
      origin.on("/a", .file(first, Self.tag))
      #expect(try await setting.fetch(list: [origin.url("/a")]).status == 0)
      #expect(origin.record.requests.last?.offset == nil)
      #expect(setting.folder["precious"] == Array("precious".utf8))
      #expect(setting.files == ["a"])
      setting.expect(first, as: "a")
    }

    @Test("A refresh that breaks off is gone on with, and replaces the file in the end")
    func brokenRefresh() async throws {
      origin.on("/a", .file(first, Self.tag))
      #expect(try await setting.fetch(list: [origin.url("/a")]).status == 0)
      let new = ["ETag: \"2\""]
      origin.on("/a", .file(second, new, upTo: 1_500_000, heldAt: gate))
      let run = try setting.start(["--refresh"], list: [origin.url("/a")])
      try await setting.waitForJournal(run) { $0.partial == 1 }
      try await setting.waitForPart(of: 1_500_000, in: run)
      await setting.kill(run)
      setting.expect(first, as: "a")
      origin.on("/a", .file(second, new))
      #expect(try await setting.fetch(list: [origin.url("/a")]).status == 0)
      #expect(origin.record.requests.last?.offset == 1_500_000)
      setting.expectOnly(["a": second])
    }

    @Test(
      "A whole file that lacks only its name gets that, without a request",
      arguments: [true, false])
    func lacksName(isRight: Bool) async throws {
      // Killed between the row of a file and its name.
      try await leavePart()
      let part = try #require(setting.partials.first)
      origin.on("/a", .file(first, Self.tag))
      #expect(try await setting.fetch(list: [origin.url("/a")]).status == 0)
      try FileManager.default.removeItem(atPath: setting.output + "/a")
      // As long as it should be, and yet perhaps another one.
      try setting.folder.write(isRight ? first : second, to: "o/.batchwise/" + part)
      let count = origin.record.requests.count
      let ending = try await setting.fetch(list: [origin.url("/a")])
      #expect(ending.status == 0)
      #expect(origin.record.requests.count == count + (isRight ? 0 : 1))
      #expect(try ending.events.endedIDs == [1])
      setting.expectOnly(["a": first])
      let again = try await setting.fetch(list: [origin.url("/a")])
      #expect(try again.events.of("skipped").map(\.reason) == ["already-done"])
    }

    @Test("Whole runs that are no one's any more leave no parts behind")
    func abandoned() async throws {
      try await leavePart()
      #expect(setting.partials.count == 1)
      origin.on("/a", .file(first, Self.tag))
      #expect(try await setting.fetch(["--fresh"], list: [origin.url("/a")]).status == 0)
      setting.expectOnly(["a": first])
    }

    @Test(
      "A wrong checksum of a resumed file is not resumed again, but fetched as a whole once more")
    func wrongChecksum() async throws {
      try await leavePart()
      let name = try #require(setting.partials.first)
      var part = try #require(setting[".batchwise/" + name])
      part[5] ^= 1
      try setting.folder.write(part, to: "o/.batchwise/\(name)")
      origin.on("/a", .file(first, Self.tag))
      let other = try RunSetting(origin)
      let digest = try await other.fetch(list: [origin.url("/a")]).events.of("done").first?.sha256
      let list = "url\tsha256\n\(origin.url("/a"))\t\(try #require(digest))\n"
      let ending = try await setting.fetch(list: [list])
      #expect(ending.status == 0)
      #expect(
        try ending.events.dropFirst().dropLast().map(\.event)
          == ["started", "retry", "started", "done"])
      #expect(origin.record.requests.suffix(2).map { $0.offset ?? 0 } == [part.count, 0])
      #expect(try ending.events.of("done").first?.proof == "checksum")
      setting.expectOnly(["a": first])
    }

    // MARK: -

    /// Kills a run that has received the greater part of a file.
    private func leavePart(_ options: [String] = []) async throws {
      let files = setting.files
      origin.on("/a", .file(first, Self.tag, upTo: 1_500_000, heldAt: gate))
      let run = try setting.start(options, list: [origin.url("/a")])
      try await setting.waitForJournal(run) { $0.partial == 1 }
      await setting.kill(run)
      #expect(setting.files == files)
      #expect(setting.partials.count == 1)
    }
  }
}
