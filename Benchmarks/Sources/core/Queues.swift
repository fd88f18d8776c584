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
      Comparison(
        Subject("queue, 200,000 cancelled", count: 200_000) { await cancelItems(200_000) },
        to: Subject("queue, 20,000 cancelled", count: 20_000) { await cancelItems(20_000) },
        atMost: 2),
    ]
  }
}

/// Adds so many items that wait, and cancels them all.
private func cancelItems(_ count: Int) async {
  let queue = TaskQueue<Int>(limit: 0)
  for number in 0..<count { queue.add { number } }
  queue.cancelAll()
  try? await queue.drain()
}
