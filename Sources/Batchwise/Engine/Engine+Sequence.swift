// SPDX-License-Identifier: Apache-2.0

extension Engine {
  /// Runs every element of a sequence, which is read by the calling task, in its isolation.
  ///
  /// The sequence need not be Sendable: it may belong to the caller's actor, so no other task ever
  /// touches it. The closures below run on that actor because they capture `isolation`.
  func run<Source: Sequence>(
    _ source: Source, isolation: isolated (any Actor)? = #isolation
  ) async where Source.Element == Element {
    await withTaskCancellationHandler {
      // What the group throws is a worker's `Stop`; the feed knows why.
      try? await withThrowingDiscardingTaskGroup { group in
        _ = isolation
        if let elements = source as? [Element], feed.limits.window == .max {
          feed.publish(elements)
          hireWorkers(into: &group)
          return feed.finish()
        }
        var iterator = source.makeIterator()
        var isAtEnd = false
        while !isAtEnd, await feed.hasRoom() {
          let batch = nextBatch(of: &iterator, isAtEnd: &isAtEnd)
          feed.publish(batch)
          hireWorkers(into: &group)
        }
        feed.finish()
      }
    } onCancel: {
      cancel()
    }
  }

  /// Reads elements until the batch is full, a worker has nothing to do, or the source ends.
  private func nextBatch(
    of iterator: inout some IteratorProtocol<Element>, isAtEnd: inout Bool
  ) -> [Element] {
    var batch: [Element] = []
    repeat {
      guard let element = iterator.next() else {
        isAtEnd = true
        break
      }
      batch.append(element)
    } while batch.count < feed.limits.batch && !feed.isHungry
    return batch
  }

  private func hireWorkers(into group: inout ThrowingDiscardingTaskGroup<any Error>) {
    while feed.hire() {
      group.addTask { try await work() }
    }
  }
}
