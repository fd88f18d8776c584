// SPDX-License-Identifier: Apache-2.0

import Batchwise

extension Core {
  /// A queue's items next to bare tasks, which have no limit, no order and no place to wait.
  static func queues() -> [Comparison] {
    let some = 100_000
    return [
      Comparison(
        Subject("queue.add and value", count: some) {
          let queue = TaskQueue<Int>(limit: limit)
          var handles: [TaskQueue<Int>.Handle] = []
          for number in 0..<some { handles.append(queue.add { number }) }
          for handle in handles { _ = try? await handle.value }
        },
        to: Subject("bare task and value", count: some) {
          var tasks: [Task<Int, any Error>] = []
          for number in 0..<some { tasks.append(Task { number }) }
          for task in tasks { _ = try? await task.value }
        }, atMost: 1.5),
      Comparison(cancelled(200_000), to: cancelled(20_000), atMost: 2),
    ]
  }
}

/// How long it takes from the cancellation of so many items that wait to the end of them all.
private func cancelled(_ count: Int) -> Subject {
  .timed("queue, \(count) cancelled", count: count) {
    let queue = TaskQueue<Int>(limit: 0)
    for number in 0..<count { queue.add { number } }
    let clock = ContinuousClock()
    let begin = clock.now
    queue.cancelAll()
    try? await queue.drain()
    return begin.duration(to: clock.now)
  }
}
