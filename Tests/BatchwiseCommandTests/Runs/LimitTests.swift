// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import TestSupport
import Testing

extension CommandRuns {
  @Suite("The limit of a run")
  struct LimitTests {
    @Test("The peak that the origin sees equals the limit", arguments: [1, 2, 3, 16])
    func peak(limit: Int) async throws {
      let origin = try MisbehavingOrigin()
      // So many must be there at once, or the gate never opens; one more would raise the peak.
      let gate = MisbehavingOrigin.Gate(opensAt: limit)
      origin.onEverythingElse(.held(at: gate, then: .ok("hello")))
      let folder = try TemporaryFolder()
      let list = (1...(limit * 4)).map { origin.url("/\($0)") }
      let ending = try await CommandRun.ending(
        ["fetch", "-n", "\(limit)", "--per-host", "\(limit)", "-o", folder.path, "--events", "-"]
          + list)
      #expect(ending.status == 0)
      #expect(origin.record.requests.count == list.count)
      #expect(origin.record.peakInFlight == limit)
      let summary = try #require(try ending.events.last)
      #expect(summary.peakInFlight == limit)
      #expect(summary.done == list.count)
      #expect(ending.errors.contains("peak in flight \(limit)\n"))
    }

    @Test("With one at a time, items run in the order of the list")
    func order() async throws {
      let origin = try MisbehavingOrigin()
      origin.onEverythingElse(.ok("hello"))
      origin.on("/7", .redirect(to: "/else"))
      let folder = try TemporaryFolder()
      let paths = (1...30).map { "/\($0)" }
      let ending = try await CommandRun.ending(
        ["fetch", "--limit=1", "-o", folder.path, "--events", "-"],
        input: .text(paths.map { origin.url($0) + "\n" }.joined()))
      #expect(ending.status == 0)
      #expect(origin.record.requests.map(\.path).filter { $0 != "/else" } == paths)
      #expect(origin.record.peakInFlight == 1)
      #expect(try ending.events.of("done").compactMap(\.id) == Array(1...30))
    }

    @Test("Where few files may be open the limit is lowered, and no item fails for it")
    func openFiles() async throws {
      let origin = try MisbehavingOrigin()
      origin.onEverythingElse(.ok("hello"))
      let folder = try TemporaryFolder()
      let list = (1...300).map { origin.url("/\($0)") }.joined(separator: "\n")
      let ending = try await CommandRun.ending(
        ["fetch", "-n", "200", "-o", folder.path, "--events", "-"], input: .text(list),
        through: ["prlimit", "--nofile=94:94"])
      #expect(ending.status == 0)
      #expect(
        ending.errors.hasPrefix(
          "batchwise: --limit 200: lowered to 10, for this process may open only 94 files\n"))
      #expect(try ending.events.first?.limit == 10)
      #expect(folder.files.count == 300)
    }

    @Test("A few open files are enough, and fewer are refused with a word", arguments: [24, 8])
    func hardlyAnyOpenFiles(count: Int) async throws {
      let origin = try MisbehavingOrigin()
      origin.onEverythingElse(.ok("hello"))
      let folder = try TemporaryFolder()
      let ending = try await CommandRun.ending(
        ["fetch", "-o", folder.path, origin.url("/a"), origin.url("/b")],
        through: ["prlimit", "--nofile=\(count):\(count)"])
      #expect(count == 24 ? ending.status == 0 : ending.status == 73 || ending.status == 74)
      #expect(ending.errors.hasPrefix("batchwise: "))
      #expect(folder.files == (count == 24 ? ["a", "b"] : []))
    }
  }
}
