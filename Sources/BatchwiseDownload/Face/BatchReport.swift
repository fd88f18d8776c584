// SPDX-License-Identifier: Apache-2.0

/// What a batch came to, from
/// ``BatchDownloader/downloadAll(_:to:limit:journal:control:queue:progress:completion:)``.
///
///     print("\(report.status.done) of \(report.outcomes.count)")
///     for failure in report.failures { print(failure) }
///
/// There is one outcome for every request, whatever happened: also for those that were never begun.
public struct BatchReport<Value: Sendable>: Sendable {
  /// What became of each request, in the order of the list: `outcomes[i].offset == i`.
  ///
  /// A request that the batch did not come to, or had to give up, has failed with the reason
  /// ``DownloadFailure/Reason/cancelled``, or with ``DownloadFailure/Reason/disk`` if there was no room
  /// or no folder to write to.
  public let outcomes: [DownloadOutcome<Value>]

  /// Why the batch ended before every request had an outcome of its own; nil if none was left.
  ///
  /// A `CancellationError` after ``DownloadControl/cancel()`` or ``DownloadControl/stop()``, a
  /// ``DownloadFailure`` for a full disk, a ``JournalError``, or an ``OutputFolderError``. A failure
  /// of one request is none: it is that request's outcome.
  public let error: (any Error)?

  /// The counts at the end.
  ///
  /// What was given up or never begun is none of the failures that are counted here.
  public let status: DownloadStatus

  /// The failures among the outcomes, in the order of the list.
  ///
  /// - Complexity: O(*n*) for *n* requests.
  public var failures: [DownloadFailure] {
    outcomes.compactMap { if case .failure(let failure) = $0.result { failure } else { nil } }
  }

  /// Returns what all requests brought, in the order of the list, if none failed.
  ///
  /// - Throws: Why the batch ended early, if it did; the first failure in the order of the list.
  /// - Complexity: O(*n*) for *n* requests.
  public func get() throws -> [Value] {
    if let error { throw error }
    return try outcomes.map { outcome throws(DownloadFailure) in try outcome.get() }
  }
}

extension DownloadFailure {
  /// What a request is told that was not done because the batch ended early.
  init(leftBy cause: any Error) {
    switch cause {
    case let failure as DownloadFailure: self = failure
    case let error as OutputFolderError: self.init(.disk, "\(error)")
    case let error as JournalError where error.kind == .diskFull:
      self.init(.disk, "The batch could not go on: \(error)", remedy: .moreRoom)
    case is CancellationError: self.init(.cancelled, "The batch was cancelled first")
    default: self.init(.cancelled, "The batch could not go on: \(cause)")
    }
  }
}
