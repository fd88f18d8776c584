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
  /// **Control.** Pausing and resuming the progress, or a parent of it, pauses and resumes the queue.
  /// Cancelling it finishes the queue and cancels all its items. Foundation calls this
  /// in its own time, so what is called in quick succession may come in another order. The handlers of
  /// the progress are replaced, and empty in the end.
  ///
  /// **Isolation.** The progress is changed by the calling task alone, in its isolation: on the main
  /// actor for an interface that is there. It needs to be safe for other threads no more than it is.
  ///
  /// **Cancellation** of the calling task ends the call, leaves the progress where it is, and changes
  /// nothing about the queue. Nothing holds the queue or the progress when the call has returned.
  ///
  /// - Parameter progress: What to keep up to date; of this queue alone, as a child of another progress
  ///   if there is more than this queue.
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
