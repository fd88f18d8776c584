// SPDX-License-Identifier: Apache-2.0

internal import Dispatch

/// The serial queue on which all of a journal's work with its file is done, so that no thread of the
/// concurrent pool ever waits for a disk.
final class JournalQueue: SerialExecutor {
  private let queue = DispatchQueue(label: "batchwise.journal")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  /// Does the work after all that was enqueued before it.
  func async(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }

  func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
