// SPDX-License-Identifier: Apache-2.0

extension Engine {
  /// Runs every element of an asynchronous sequence, which is read by a child task of its own.
  ///
  /// So a failure ends the run at once even while the source is silent: the group cancels the
  /// reader together with the workers. `translate` turns an error of the source into a failure of
  /// the run, or into nil if it only ends the source.
  @inlinable func run<Source: AsyncSequence & Sendable>(
    _ source: Source, translate: @escaping @Sendable (Source.Failure) -> Failure?
  ) async where Source.Element == Element {
    await withTaskCancellationHandler {
      // What the group throws is a child's `Stop`; the engine has kept the reason.
      try? await withThrowingDiscardingTaskGroup { group in
        group.addTask { try await self.read(source, translate: translate) }
        while await feed.hireNext() {
          group.addTask { try await self.work() }
        }
      }
    } onCancel: {
      cancel()
    }
  }

  /// Runs every element of an asynchronous sequence that cannot throw.
  @inlinable func run<Source: AsyncSequence & Sendable>(_ source: Source) async
  where Source.Element == Element, Source.Failure == Never {
    @Sendable func impossible(_ error: Never) -> Failure? {}
    await run(source, translate: impossible)
  }

  /// Makes every element ready before it waits for the next one.
  @inlinable func read<Source: AsyncSequence & Sendable>(
    _ source: Source, translate: (Source.Failure) -> Failure?
  ) async throws(Stop) where Source.Element == Element {
    do throws(Source.Failure) {
      var iterator = source.makeAsyncIterator()
      var block = makeBlock()
      feed.add(block)
      while let count = await feed.room() {
        for _ in 0..<count where !block.isClosed {
          guard let element = try await iterator.next(isolation: nil) else { return finish() }
          if block.isFull {
            block = makeBlock(after: block)
            feed.add(block)
          }
          block.append(element)
          feed.noteReady()
        }
      }
    } catch {
      guard let failure = translate(error) else { return finish() }
      fail(failure)
      throw Stop()
    }
  }
}
