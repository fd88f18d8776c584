// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseTesting
import Dispatch
import TestSupport
import Testing

@testable import BatchwiseDownload

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite(.timeLimit(.minutes(1)))
struct DispatchCallbackTests {
  @Test("The progress grows to the last status, one call after the other, before the completion")
  func progress() async throws {
    let setting = try FaceSetting { .file($0) }
    for log in [CallbackLog<FileResult>(), CallbackLog<FileResult>(.concurrent)] {
      setting.begin(addresses(0..<300), log)
      let report = await log.report()
      #expect(log.isOrderly)
      let statuses = log.calls.value.statuses
      #expect(statuses.last == report.status && statuses.last?.items == 300)
      #expect(zip(statuses, statuses.dropFirst()).allSatisfy { $0 != $1 && $0.read <= $1.read })
    }
  }

  @Test("A queue that stands still holds up nothing, and is told only what is newest")
  func slowQueue() async throws {
    let setting = try FaceSetting { .file($0) }
    let log = CallbackLog<FileResult>()
    log.queue.suspend()
    let control = setting.begin(addresses(0..<500), log)
    for await _ in control.statusUpdates {}
    #expect(control.status?.done == 500, "All is over")
    #expect(log.calls.value.statuses.isEmpty && log.calls.value.reports.isEmpty)
    log.queue.resume()
    let report = await log.report()
    #expect(log.calls.value.statuses == [report.status])
    #expect(log.isOrderly && report.successes == 500)
  }

  @Test("A batch needs no progress, and no control that is held")
  func alone() async throws {
    let gate = Gate()
    let setting = try FaceSetting { url in
      await gate.pass()
      return .file(url)
    }
    let log = CallbackLog<FileResult>()
    weak var control: DownloadControl?
    do {
      let transient = DownloadControl()
      control = transient
      setting.downloader.downloadAll(
        addresses(0..<9), to: setting.folder, control: transient, queue: log.queue,
        completion: log.completion)
    }
    await setting.transport.record.wait { $0.inFlight == 3 }
    gate.open()
    #expect(await log.report().successes == 9)
    // Whoever has called back lets go of it just after that.
    while control != nil { await Task.yield() }
  }

  @Test("The closures are let go of after the end, though the control is held", arguments: 0..<3)
  func closures(way: Int) async throws {
    let setting = try FaceSetting { url in
      if way == 1 { try? await Task.sleep(for: .seconds(3600)) }
      return .file(url)
    }
    let gone = Watched(0)
    let queue = DispatchQueue(label: "callbacks")
    let control = DownloadControl()
    if way == 2 { control.cancel() }
    do {
      let (first, second) = (Held(gone), Held(gone))
      setting.downloader.downloadAll(
        addresses(0..<5), limit: 3, atMost: 1000, control: control, queue: queue,
        progress: { _ in first.touch() }, completion: { _ in second.touch() })
    }
    if way == 1 {
      await setting.transport.record.wait { $0.inFlight == 3 }
      control.cancel()
    }
    await gone.wait { $0 == 2 }
    withExtendedLifetime(control) {}
  }

  @Test("A callback may steer the batch, and begin another one")
  func fromWithin() async throws {
    let setting = try FaceSetting { url in
      if url != "http://h/0" { try? await Task.sleep(for: .seconds(3600)) }
      return .file(url)
    }
    let log = CallbackLog<DownloadedBody>()
    let control = DownloadControl()
    setting.downloader.downloadAll(
      addresses(0..<9), to: setting.folder, limit: 3, control: control, queue: log.queue,
      progress: { if $0.done == 1 { control.cancel() } },
      completion: { report in
        #expect(report.successes == 1 && report.error is CancellationError)
        setting.begin(["http://h/0"], atMost: 10, log)
      })
    #expect(await log.report().successes == 1)
  }

  @Test("A thread of Dispatch that makes the call is not held", arguments: [1, 100])
  func manyBatches(count: Int) async throws {
    let gate = Gate()
    let setting = try FaceSetting { url in
      await gate.pass()
      return .file(url)
    }
    let logs = (0..<count).map { _ in CallbackLog<DownloadedBody>() }
    await withCheckedContinuation { continuation in
      DispatchQueue(label: "caller").async {
        for log in logs { setting.begin(addresses(0..<10), limit: 2, atMost: 1000, log) }
        continuation.resume()
      }
    }
    await setting.transport.record.wait { $0.inFlight == 2 * count }
    gate.open()
    for log in logs { #expect(await log.report().successes == 10) }
    #expect(setting.transport.record.value.peak == 2 * count, "Each batch has its own limit")
  }

  #if os(Linux)
    @Test("Ten thousand requests that wait are no threads")
    func threads() async {
      // In a process of its own, so that nobody else's threads are counted.
      await #expect(processExitsWith: .success) {
        let gate = Gate()
        let setting = try FaceSetting { url in
          await gate.pass()
          return .file(url)
        }
        var threads: [Int] = []
        var logs: [CallbackLog<DownloadedBody>] = []
        // Ten waiting requests first: with them all the threads are there that a batch ever needs.
        for (round, count) in [10, 10_000].enumerated() {
          let log = CallbackLog<DownloadedBody>()
          let control = setting.begin(addresses(0..<count), atMost: 1 << 20, log)
          await setting.transport.record.wait { $0.inFlight == 3 * (round + 1) }
          let read = min(count, DownloadState.window / 2)
          for await status in control.statusUpdates where status.waiting >= read - 3 { break }
          threads.append(threadCount())
          logs.append(log)
        }
        try #require(threads[0] > 0)
        #expect(threads[1] - threads[0] <= 2, "\(threads) threads")
        gate.open()
        for log in logs { #expect(await log.report().failures.isEmpty) }
        #expect(threadCount() - threads[0] <= 2, "None was needed on the way")
      }
    }
  #endif
}

/// Counts that it is gone.
private final class Held: Sendable {
  private let gone: Watched<Int>
  init(_ gone: Watched<Int>) { self.gone = gone }
  deinit { gone.update { $0 += 1 } }
  func touch() {}
}

/// How many threads this process has.
private func threadCount() -> Int {
  let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  let line = status.split(separator: "\n").first { $0.hasPrefix("Threads:") }
  return line.flatMap { Int($0.dropFirst(8).drop { $0 == "\t" || $0 == " " }) } ?? 0
}
