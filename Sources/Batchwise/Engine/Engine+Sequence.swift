// SPDX-License-Identifier: Apache-2.0

extension Engine {
  /// Runs every element of a sequence, which is read by the calling task, in its isolation.
  ///
  /// The sequence need not be Sendable: it may belong to the caller's actor, so no other task ever
  /// touches it. The closures below run on that actor because they capture `isolation`; without
  /// it they would leave the actor, and the compiler would not say so.
  @inlinable func run<Source: Sequence>(
    _ source: Source, isolation: isolated (any Actor)? = #isolation
  ) async where Source.Element == Element {
    await withTaskCancellationHandler {
      // What the group throws is a worker's `Stop`; the engine has kept the reason.
      try? await withThrowingDiscardingTaskGroup { group in
        _ = isolation
        if isUnbounded, let array = source as? [Element] {
          feed.add(makeBlock(sharing: array))
          hireWorkers(into: &group)
        } else {
          await read(source, hiringInto: &group)
        }
        feed.finish()
      }
    } onCancel: {
      cancel()
    }
  }

  @inlinable func read<Source: Sequence>(
    _ source: Source, hiringInto group: inout ThrowingDiscardingTaskGroup<any Error>
  ) async where Source.Element == Element {
    var iterator = source.makeIterator()
    var block = makeBlock()
    feed.add(block)
    while let count = await feed.room() {
      for _ in 0..<count {
        guard !block.isClosed, let element = iterator.next() else { return }
        if block.isFull {
          block = makeBlock(after: block)
          feed.add(block)
        }
        block.append(element)
        feed.noteReady()
        hireWorkers(into: &group)
      }
    }
  }

  @inlinable func hireWorkers(into group: inout ThrowingDiscardingTaskGroup<any Error>) {
    while feed.hire() {
      group.addTask { try await self.work() }
    }
  }
}
