// SPDX-License-Identifier: Apache-2.0

public import Batchwise
public import Foundation

extension TaskQueue {
  /// Keeps a progress up to date with the queue, until the queue is over.
  ///
  ///     let progress = Progress.discreteProgress(totalUnitCount: 0)
  ///     let following = Task { await queue.report(to: progress) }
  ///
  /// An item is a unit: `totalUnitCount` counts those that were added, `completedUnitCount` those that
  /// are over, whatever became of them. The progress is finished when the queue is, and not before,
  /// for a parent lets go of a child that has finished. While a queue that is not finished has nothing
  /// to do, nobody knows how much is to come, and the progress is indeterminate. Who does know
  /// sets `totalUnitCount` before, and it is kept as long as no more were added.
  ///
  /// **Control.** Pausing or resuming the progress, or a parent of it, does the same to the queue.
  /// Cancelling it finishes the queue and cancels all its items. Foundation passes this on in its own
  /// time, so two calls in quick succession may arrive in the other order. The handlers of the
  /// progress are replaced, and are gone in the end.
  ///
  /// **Isolation.** The progress is changed by the calling task alone, where that runs: on the main
  /// actor for an interface that is there.
  ///
  /// **Cancellation** of the calling task ends the call, leaves the progress as it is, and changes
  /// nothing about the queue. When the call has returned, neither holds the other.
  ///
  /// - Parameter progress: What to keep up to date. It is of this queue alone; if there is more to be
  ///   shown than one queue, it is a child of another progress.
  /// - Complexity: O(1) for each change of the queue that it is quick enough to see; others are left out.
  public nonisolated(nonsending) func report(to progress: Progress) async {
    let expected = progress.totalUnitCount
    attach(to: progress)
    defer { detach(from: progress) }
    for await status in statusUpdates {
      let units = ProgressUnits(status, expected: expected)
      // The total first, or the last of the old total could look like the end.
      progress.totalUnitCount = units.total
      progress.completedUnitCount = units.completed
    }
  }

  private nonisolated func attach(to progress: Progress) {
    progress.isCancellable = true
    progress.isPausable = true
    progress.pausingHandler = { @Sendable [self] in pause() }
    progress.resumingHandler = { @Sendable [self] in resume() }
    progress.cancellationHandler = { @Sendable [self] in
      finish()
      cancelAll()
    }
  }

  private nonisolated func detach(from progress: Progress) {
    progress.isCancellable = false
    progress.isPausable = false
    progress.pausingHandler = nil
    progress.resumingHandler = nil
    progress.cancellationHandler = nil
  }
}
