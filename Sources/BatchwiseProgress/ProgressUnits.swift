// SPDX-License-Identifier: Apache-2.0

internal import Batchwise

/// What a progress says about a status of a queue.
struct ProgressUnits: Equatable {
  /// Negative if nobody knows how much is to come.
  var total: Int64
  var completed: Int64

  /// - Parameters:
  ///   - status: What is true of the queue.
  ///   - expected: How many items are expected; not positive if nobody knows.
  init(_ status: TaskQueueStatus, expected: Int64) {
    let counts = status.counts
    let over = counts.succeeded + counts.failed + counts.cancelled + counts.refused
    let left = status.waiting + status.offered + status.inFlight + status.lending
    completed = Int64(over)
    total = Int64(over + left)
    guard left == 0 else {
      total = max(total, expected)
      return
    }
    if !status.isFinished {
      total = expected > completed ? expected : -1
    } else if over == 0 {
      // Nothing of nothing would never be finished.
      (total, completed) = (1, 1)
    }
  }
}
