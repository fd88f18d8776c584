// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import TestSupport
import Testing

extension CommandRuns {
  @Suite("A list that is still being written")
  struct StreamingTests {
    @Test("Each item is requested while the pipe is open and silent")
    func silentPipe() async throws {
      let origin = try MisbehavingOrigin()
      origin.onEverythingElse(.ok("hello"))
      let folder = try TemporaryFolder()
      let pipe = try Wire.input()
      let run = try CommandRun(
        ["fetch", "-o", folder.path, "--events", "-"], input: .wire(pipe))
      for number in 1...3 {
        pipe.write("\(origin.url("/\(number)"))\n")
        await run.wait(for: #""event":"done""#, times: number)
        #expect(origin.record.requests.count == number)
      }
      // The last line needs no end, but it is complete only when the list is.
      pipe.write(origin.url("/4"))
      pipe.close()
      #expect(await run.ending.status == 0)
      #expect(folder.files == ["1", "2", "3", "4"])
    }

    @Test("A hundred times as many lines take no more memory")
    func flatMemory() async throws {
      let short = try await peakMemory(lines: 1_000)
      let long = try await peakMemory(lines: 100_000)
      #expect(long - short < 6_144, "in KiB: \(short) for 1,000 lines, \(long) for 100,000")
    }

    /// The most memory that a run holds until it has dealt with so many lines of an endless list.
    ///
    /// Most lines are no addresses, for a hundred thousand requests would take too long here.
    private func peakMemory(lines: Int) async throws -> Int {
      let origin = try MisbehavingOrigin()
      let gate = MisbehavingOrigin.Gate()
      origin.on("/last", .held(at: gate, then: .status(404)))
      let folder = try TemporaryFolder()
      let pipe = try Wire.input()
      let run = try CommandRun(
        ["fetch", "-o", folder.path, "--events", "/dev/null"], input: .wire(pipe))
      Thread.detachNewThread {
        for block in stride(from: 0, to: lines, by: 100) {
          let text = (block..<block + 99).map { "ftp://host/\($0)\n" }
          guard pipe.write(text.joined() + "\(origin.url("/\(block)"))\n") else { return }
        }
        pipe.write("\(origin.url("/last"))\n")
      }
      await gate.arrivals(1)
      let peak = try run.peakMemory
      run.send(SIGINT)
      gate.open()
      #expect(await run.ending.status == 130)
      return peak
    }

    @Test("Reading ends while the list goes on without end")
    func endless() async throws {
      let origin = try MisbehavingOrigin()
      origin.onEverythingElse(.ok("hello"))
      let folder = try TemporaryFolder()
      let pipe = try Wire.input()
      let run = try CommandRun(
        ["fetch", "-n", "2", "-o", folder.path, "--events", "-"], input: .wire(pipe))
      let written = Watched(0)
      Thread.detachNewThread {
        // The pipe breaks when the command ends, and then nothing more can be written.
        for number in 1...10_000_000 {
          guard pipe.write("\(origin.url("/\(number)"))\n") else { break }
          written.update { $0 = number }
        }
        written.update { $0 = -$0 }
      }
      await run.wait(for: #""event":"done""#, times: 50)
      run.send(SIGINT)
      let ending = await run.ending
      await written.wait { $0 < 0 }
      #expect(ending.status == 130)
      let events = try ending.events
      #expect(events.last?.event == "summary")
      // What was started within the grace is done, for this origin is fast; what was not is left.
      #expect(events.of("done").count == events.of("started").count)
      #expect(folder.files.count == events.of("done").count)
      #expect(-written.value > events.of("started").count)
    }
  }
}
