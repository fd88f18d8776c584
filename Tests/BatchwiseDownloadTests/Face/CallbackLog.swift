// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Dispatch

@testable import BatchwiseDownload

/// What a batch has called back, to look at or to wait for.
///
/// Both closures end the test if they are called anywhere but on the queue.
final class CallbackLog<Value: Sendable>: Sendable {
  /// What has been told so far.
  struct Calls: Sendable {
    var statuses: [DownloadStatus] = []
    var reports: [BatchReport<Value>] = []
    /// How many calls are under way.
    var now = 0
    /// The most calls that were under way at once.
    var most = 0
    /// Whether the progress was told of after the report.
    var isLate = false
  }

  let queue: DispatchQueue
  let calls = Watched(Calls())

  init(_ attributes: DispatchQueue.Attributes = []) {
    queue = DispatchQueue(label: "callbacks", attributes: attributes)
  }

  /// Takes note of a status.
  var progress: @Sendable (DownloadStatus) -> Void {
    { [self] status in
      call {
        $0.isLate = $0.isLate || !$0.reports.isEmpty
        $0.statuses.append(status)
      }
    }
  }

  /// Takes note of a report.
  var completion: @Sendable (BatchReport<Value>) -> Void {
    { [self] report in call { $0.reports.append(report) } }
  }

  private func call(_ note: @escaping @Sendable (inout Calls) -> Void) {
    dispatchPrecondition(condition: .onQueue(queue))
    calls.update { calls in
      calls.now += 1
      calls.most = max(calls.most, calls.now)
    }
    calls.update(note)
    calls.update { $0.now -= 1 }
  }

  /// The report, once it is there.
  ///
  /// What the queue had to run when it came has been run when this returns, so that a second call or a
  /// late one would be seen.
  func report() async -> BatchReport<Value> {
    await calls.wait { !$0.reports.isEmpty }
    await withCheckedContinuation { continuation in
      queue.async(flags: .barrier) { continuation.resume() }
    }
    return calls.value.reports[0]
  }

  /// Whether there was one report and all calls came one after the other, the report last.
  var isOrderly: Bool {
    let calls = calls.value
    return calls.reports.count == 1 && calls.most == 1 && calls.now == 0 && !calls.isLate
  }
}

extension FaceSetting {
  /// Begins a batch of Dispatch code that goes to files.
  @discardableResult
  func begin(
    _ requests: [some DownloadRequestConvertible], limit: Int? = 3,
    journal: (any DownloadJournal)? = nil, control: DownloadControl = DownloadControl(),
    _ log: CallbackLog<FileResult>
  ) -> DownloadControl {
    downloader.downloadAll(
      requests, to: folder, limit: limit, journal: journal, control: control, queue: log.queue,
      progress: log.progress, completion: log.completion)
  }

  /// Begins a batch of Dispatch code that goes to memory.
  @discardableResult
  func begin(
    _ requests: [some DownloadRequestConvertible], limit: Int? = 3, atMost bound: Int,
    control: DownloadControl = DownloadControl(), _ log: CallbackLog<DownloadedBody>
  ) -> DownloadControl {
    downloader.downloadAll(
      requests, limit: limit, atMost: bound, control: control, queue: log.queue,
      progress: log.progress, completion: log.completion)
  }
}

extension BatchReport {
  /// Whether there is one outcome for each of so many requests, each in its place.
  func isComplete(_ count: Int) -> Bool { outcomes.map(\.offset) == Array(0..<count) }

  /// How many requests failed for each reason.
  var reasons: [DownloadFailure.Reason: Int] {
    failures.reduce(into: [:]) { $0[$1.reason, default: 0] += 1 }
  }

  /// How many requests did not fail.
  var successes: Int { outcomes.count - failures.count }
}
