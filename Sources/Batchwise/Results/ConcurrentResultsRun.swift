// SPDX-License-Identifier: Apache-2.0

/// One run of `concurrentResults`, owned by its iterator.
///
/// Work goes on between two calls of `next()`, so its task cannot be a child of the reader's. It is
/// owned here instead: `next()` awaits it before it returns the last time, and dropping the
/// iterator cancels it.
@usableFromInline
final class ConcurrentResultsRun<
  Input: Sendable, Output: Sendable, TransformFailure: Error, SourceFailure: Error
> {
  @usableFromInline typealias Outcome = ConcurrentResult<Output, TransformFailure>
  @usableFromInline typealias Storage = ConcurrentResultsStorage<
    Output, TransformFailure, SourceFailure
  >
  @usableFromInline typealias RunEngine = Engine<Input, Result<Output, TransformFailure>, Never>

  /// Runs the engine over the source, and tells the storage if the source fails.
  @usableFromInline typealias Read = @Sendable (RunEngine, Storage) async -> Void

  @usableFromInline enum Phase {
    /// Nobody has asked for an element. Exits: running, over.
    case new
    /// The task is at work. Exit: over.
    case running(Task<Void, Never>)
    /// The task has been awaited, or was never needed. No exit.
    case over
  }

  @usableFromInline var phase = Phase.new
  /// Outcomes that were handed over and not yet read, the next of them last.
  ///
  /// They still count as held: an element is released when its outcome is read.
  @usableFromInline var batch: [Outcome] = []
  @usableFromInline let storage: Storage
  @usableFromInline let engine: RunEngine
  @usableFromInline let read: Read
  @usableFromInline let executor: (any TaskExecutor)?

  @inlinable init(
    _ limits: FeedLimits, order: ConcurrentResultsOrder, executor: (any TaskExecutor)?,
    read: @escaping Read,
    transform: @escaping @Sendable (Input) async throws(TransformFailure) -> Output
  ) {
    let storage = Storage(order: order)
    self.storage = storage
    self.read = read
    self.executor = executor
    engine = RunEngine(
      limits, outlet: .sink { { offset, result in storage.insert(result, at: offset) } },
      cancellation: .stops
    ) { element in
      do throws(TransformFailure) {
        return .success(try await transform(element))
      } catch {
        return .failure(error)
      }
    }
  }

  deinit {
    if case .running(let task) = phase { task.cancel() }
  }

  /// The next outcome; nil, with nothing left at work, at the end or when the reader is cancelled.
  @inlinable func next(isolation: isolated (any Actor)?) async throws(SourceFailure) -> Outcome? {
    if !Task.isCancelled, let outcome = batch.popLast() {
      engine.feed.release()
      return outcome
    }
    return try await nextBatch(isolation: isolation)
  }

  /// Waits for outcomes, and returns the first of them.
  @inlinable func nextBatch(
    isolation: isolated (any Actor)?
  ) async throws(SourceFailure) -> Outcome? {
    if case .new = phase, !Task.isCancelled { start() }
    guard case .running(let task) = phase else {
      phase = .over
      return nil
    }
    while true {
      if Task.isCancelled {
        batch.removeAll()
        cancel(task)
      }
      switch storage.next(handingOverInto: &batch) {
      case .values:
        batch.reverse()
        guard let outcome = batch.popLast() else { continue }
        engine.feed.release()
        return outcome
      case .wait:
        await park(task)
      case .failed(let failure):
        await end(task)
        throw failure
      case .over:
        await end(task)
        return nil
      }
    }
  }

  @usableFromInline func start() {
    phase = .running(
      Task(executorPreference: executor ?? preferredTaskExecutor) { [engine, read, storage] in
        await read(engine, storage)
        storage.finish()
      })
  }

  @usableFromInline func park(_ task: Task<Void, Never>) async {
    await withTaskCancellationHandler { [storage] in
      await storage.park()
    } onCancel: { [storage] in
      task.cancel()
      storage.cancel()
    }
  }

  @usableFromInline func cancel(_ task: Task<Void, Never>) {
    task.cancel()
    storage.cancel()
  }

  @usableFromInline func end(_ task: Task<Void, Never>) async {
    await task.value
    phase = .over
  }
}
