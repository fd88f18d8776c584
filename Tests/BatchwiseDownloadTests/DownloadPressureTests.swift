// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import BatchwiseDownload

@Suite(.timeLimit(.minutes(2)))
struct DownloadPressureTests {
  @Test("A sink that does not return holds back the starts, and nothing is lost when it does")
  func slowSink() async throws {
    let gate = Gate()
    let log = EventLog()
    let fetch = try Fetch(limit: 7) { _ in .status(404) }
    let addresses = (0..<6000).map { "http://h/\($0)" }
    async let report = fetch.downloader.run(
      WorkList(addresses: addresses), reportingTo: GatedSink(gate: gate, log: log))

    // Nothing is in flight though items wait: only the full window of events can be the reason.
    await fetch.transport.record.wait { $0.urls.count >= DownloadState.newsWindow / 2 }
    while true {
      let status = fetch.downloader.status
      if status.inFlight == 0, status.waiting > 0, status.failed > 0 { break }
      await Task.yield()
    }
    // Each item has two events; those that the sink was given first are beside the window.
    let started = fetch.transport.record.value.urls.count
    #expect(started < 6000)
    #expect(started >= DownloadState.newsWindow / 2)
    gate.open()

    #expect(await report.status.failed == 6000)
    #expect(log.endings.count == 6000)
    #expect(log.endings.values.allSatisfy { $0.count == 1 })
    #expect(log.startedURLs == addresses)
  }

  @Test("Events reach the sink in order, one call after the other, the last before the run returns")
  func orderOfEvents() async throws {
    let calls = Watched((now: 0, most: 0))
    let log = EventLog()
    let fetch = try Fetch(limit: 5) { .file($0) }
    _ = await fetch.downloader.run(
      WorkList(addresses: (0..<300).map { "http://h/\($0)" }),
      reportingTo: ClosureSink { events in
        calls.update {
          $0.now += 1
          $0.most = max($0.most, $0.now)
        }
        await Task.yield()
        await log.receive(events)
        calls.update { $0.now -= 1 }
      })
    #expect(calls.value.most == 1)
    #expect(log.events.count == 600)
    var started: Set<Int> = []
    for event in log.events {
      if event.kind.word == "started" {
        started.insert(event.id)
      } else {
        #expect(started.contains(event.id))
      }
    }
  }

  #if os(Linux)
    @Test(
      "A list without end takes no more memory the longer it is",
      .disabled(if: isSanitized, "A sanitizer keeps memory that was given back"))
    func endlessList() async {
      await #expect(processExitsWith: .success) {
        let folder = try TemporaryFolder()
        let downloader = DownloadRun(
          transport: PlainTransport(), folder: try OutputFolder(path: folder.path),
          options: .limited(to: 16))
        // Beyond the addresses that are remembered, whose number is fixed.
        let warmUp = RecentValues<ItemKey>.capacity + 5000
        let memory = Watched<[Int]>([])
        let read = Watched(0)
        let source = FakeSource { _, count in
          let first = read.value
          if [warmUp, warmUp + 40_000].contains(where: { (first..<first + count).contains($0) }) {
            memory.update { $0.append(residentBytes()) }
          }
          if first > warmUp + 40_000 { return nil }
          read.update { $0 += count }
          return (first..<first + count).map { WorkItem(address: "http://h/\($0)") }
        }
        let report = await downloader.run(source, reportingTo: ClosureSink { _ in })
        #expect(report.status.failed == report.status.items)
        let growth = memory.value[memory.value.count - 1] - memory.value[0]
        #expect(growth < 2_000_000, "40,000 items have cost \(growth) bytes")
      }
    }
  #endif

  @Test("A full disk ends the run, and no file is short", .enabled(if: SmallDisk.isAllowed))
  func fullDisk() async throws {
    for (limit, namelessFiles) in [(1, true), (7, true), (7, false)] {
      let parent = try TemporaryFolder()
      await #expect(processExitsWith: .success) {
        [path = parent.path as String, limit = limit as Int, namelessFiles = namelessFiles as Bool]
        in
        let folder = try smallFolder(path, bytes: 1_000_000, namelessFiles: namelessFiles)
        let transport = FakeTransport { _ in
          .pieces(
            ResponseHead(status: 200, framing: .length(60_000)),
            (0..<6).map { [UInt8](repeating: $0, count: 10_000) })
        }
        let downloader = DownloadRun(
          transport: transport, folder: folder, options: .limited(to: limit))
        let log = EventLog()
        let report = await downloader.run(
          WorkList(addresses: (0..<500).map { "http://h/\($0)" }), reportingTo: log)

        #expect(report.ending == .diskFull)
        #expect(report.status.done > 0 && report.status.done < 17)
        #expect(report.status.failed == 0, "Nothing is wrong with an item")
        #expect(report.status.left > 0, "The rest is left to the next run")
        #expect(log.failures.isEmpty)
        let sizes = try sizesOfFiles(in: folder)
        #expect(sizes.count == report.status.done)
        #expect(Set(sizes.values) == [60_000])
      }
    }
  }
}

private struct ClosureSink: EventSink {
  let body: @Sendable ([DownloadEvent]) async -> Void
  func receive(_ events: [DownloadEvent]) async { await body(events) }
}

private struct GatedSink: EventSink {
  let gate: Gate
  let log: EventLog

  func receive(_ events: [DownloadEvent]) async {
    await gate.pass()
    await log.receive(events)
  }
}

/// Answers every request with an error and keeps nothing.
private struct PlainTransport: Transport {
  func start(_ transfers: [Transfer]) {
    for transfer in transfers {
      Task {
        _ = transfer.handler.receive(head: ResponseHead(status: 404, framing: .length(0)))
        transfer.handler.finish(.complete)
      }
    }
  }

  func cancel(_ handler: any TransferHandler) {}
}

/// Whether the process looks for its own mistakes, at the price of memory.
private let isSanitized = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

/// The memory that this process occupies.
private func residentBytes() -> Int {
  let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?
    .split(separator: " ").dropFirst().first.flatMap { Int($0) }
  return (pages ?? 0) * Int(getpagesize())
}

/// An output folder on a disk of a few bytes.
private func smallFolder(
  _ path: String, bytes: Int, namelessFiles: Bool
) throws -> OutputFolder {
  try #require(SmallDisk.lay(onto: path, bytes: bytes))
  return try OutputFolder(path: path, namelessFiles: namelessFiles)
}

/// The sizes of the files, reached by the descriptor: another thread may not see the small disk.
private func sizesOfFiles(in folder: OutputFolder) throws -> [String: Int] {
  let path = "/proc/self/fd/\(folder.descriptor)"
  var sizes: [String: Int] = [:]
  for name in try FileManager.default.contentsOfDirectory(atPath: path) where name != ".batchwise" {
    sizes[name] =
      try FileManager.default.attributesOfItem(atPath: path + "/" + name)[.size] as? Int
  }
  return sizes
}
