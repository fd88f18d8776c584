// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A batch that somebody looks at: it grows while it runs, what failed can be asked for again, and every
/// row is known.
///
///     let live = LiveBatch()
///     live.add(items)
///     live.start()
///     let report = await run.run(live.source, reportingTo: live)
///
/// Nothing is handed out before ``start()`` or after ``cancel(in:)``, until it is started again. Its list
/// ends when ``finish()`` was called and everything was handed out. It remembers all rows, so it is not for
/// a list without end.
package final class LiveBatch: Sendable {
  fileprivate struct State {
    var table: RowTable
    var isStarted = false
    var isFinished = false
  }

  private let state: Mutex<State>
  /// Raised when there are further items, or when there will be none.
  private let listSignal = Signal()
  /// Raised when the run was handed what there was.
  private let roomSignal = Signal()
  private let watcher = RunWatcher()

  /// Makes a batch without rows.
  ///
  /// - Parameter notesChanges: Whether it takes note of which rows change, for one who looks with
  ///   ``takeChanges()``.
  package init(notesChanges: Bool = false) {
    state = Mutex(State(table: RowTable(notesChanges: notesChanges)))
  }

  /// How many rows of a list may wait to be handed out before no more of it is read.
  package static let readAhead = 100_000

  private func change<Result>(
    _ change: (inout sending State) -> sending Result
  ) -> sending Result {
    defer {
      listSignal.raise()
      watcher.note()
    }
    return state.withLock(change)
  }

  // MARK: - Those who add

  /// Adds items behind all others; none once it is finished.
  package func add(_ items: [WorkItem]) {
    change { state in if !state.isFinished { state.table.add(items) } }
  }

  /// Adds all items of a list, until the list ends or the task is cancelled.
  ///
  /// - Parameters:
  ///   - list: The list.
  ///   - count: How many items it has brought.
  /// - Throws: When the list cannot be read on.
  package func add(contentsOf list: inout some WorkSource, counting count: inout Int) async throws {
    defer {
      let rest = list.takeBuffered()
      count += rest.count
      add(rest)
    }
    while !Task.isCancelled {
      guard state.withLock({ $0.table.backlog < Self.readAhead }) else {
        await roomSignal.waitUnlessCancelled()
        continue
      }
      guard let items = try await list.next(upTo: 512) else { return }
      count += items.count
      add(items)
    }
  }

  /// Asks again for a row that has failed or was left, and returns whether it has.
  package func retry(_ row: Int) -> Bool { change { $0.table.retry(row) } }

  /// Asks again for all rows that have failed, and returns how many those are.
  package func retryFailed() -> Int { change { $0.table.retryAll(.failed) } }

  /// Nothing more is added.
  package func finish() { change { $0.isFinished = true } }

  // MARK: - Those who steer

  /// Hands out what waits, and what was left, from now on.
  package func start() {
    change { state in
      state.isStarted = true
      _ = state.table.retryAll(.left)
    }
  }

  /// Leaves everything that has not ended, and hands out nothing until it is started again.
  ///
  /// What is in flight is cancelled; a file that is whole already may still get its name.
  package func cancel(in run: DownloadRun) {
    let items = change { state in
      state.isStarted = false
      return state.table.leaveWaiting()
    }
    for item in items { run.abandon(item) }
  }

  // MARK: - The run

  /// What the run reads.
  package var source: some WorkSource { Source(batch: self) }

  /// Takes note that the run has ended: what is not done is left.
  ///
  /// Once it is started again another run may go on with it; there is never more than one at a time.
  package func end() { change { $0.table.end() } }

  private struct Source: WorkSource {
    let batch: LiveBatch

    func next(upTo count: Int) async throws -> [WorkItem]? {
      while !Task.isCancelled {
        let (items, isOver) = batch.take(upTo: count)
        if !items.isEmpty { return items }
        if isOver { return nil }
        await batch.listSignal.waitUnlessCancelled()
      }
      return nil
    }

    func takeBuffered() -> [WorkItem] { batch.state.withLock { $0.table.take(upTo: .max) } }
  }

  private func take(upTo count: Int) -> (items: [WorkItem], isOver: Bool) {
    let taken = state.withLock { state -> ([WorkItem], Bool) in
      guard state.isStarted else { return ([], false) }
      let items = state.table.take(upTo: count)
      return (items, items.isEmpty && state.isFinished)
    }
    roomSignal.raise()
    return taken
  }

  // MARK: - Those who look

  /// What the rows come to, at one moment.
  package struct Counts: Sendable, Equatable {
    /// Two equal numbers are one state of all rows.
    package var version: Int
    /// How many rows there are.
    package var all: Int
    /// How many rows are in each state.
    package var kinds: [DownloadRow.Kind: Int]
    /// Whether every row has ended.
    package var isSettled: Bool
    /// Whether rows are handed out.
    package var isStarted: Bool
  }

  /// What the rows come to.
  package var counts: Counts { state.withLock { Counts($0) } }

  /// The row that an item of the run stands for.
  package func row(ofItem id: Int) -> Int? { state.withLock { $0.table.row(ofItem: id) } }

  /// Some of the rows in these states, or in all, in the order in which they were added, and what all
  /// rows come to at that moment.
  ///
  /// - Complexity: O(*n*) for *n* rows, and O(`count`) for all states.
  package func rows(
    _ kinds: Set<DownloadRow.Kind>? = nil, from start: Int = 0, atMost count: Int = .max
  ) -> (rows: [DownloadRow], counts: Counts) {
    state.withLock { ($0.table.rows(kinds, from: start, atMost: count), Counts($0)) }
  }

  /// The rows that are new or have changed since the last call, in the order in which they were added,
  /// and what all rows come to at that moment; for one reader, of a batch that takes note of changes.
  ///
  /// - Complexity: O(*n* log *n*) for *n* such rows.
  package func takeChanges() -> (rows: [DownloadRow], counts: Counts) {
    state.withLock { ($0.table.takeChanged(), Counts($0)) }
  }

  /// One row, if there is one of that number.
  package func row(_ id: Int) -> DownloadRow? {
    state.withLock { $0.table.row(id) }
  }

  /// The items that are not done, in the order of their rows, as a list of them alone has to write them:
  /// with headers and passwords, and with the names that their places give them.
  package func unfinished(_ naming: Naming) -> [WorkItem] {
    state.withLock(\.table.unfinished).map { item in
      item.asUnfinished(naming, number: (item.mark?.row ?? 0) + 1)
    }
  }

  /// Takes note that something else has changed for those who look.
  package func noteChange() { change { $0.table.noteChange() } }

  /// Waits until something has changed since that version, so long at most, or until the task is cancelled.
  package func waitForChange(since version: Int, atMost time: Duration? = nil) async {
    await withTaskGroup { group in
      if let time { group.addTask { try? await Task.sleep(for: time) } }
      group.addTask { [self] in
        await watcher.wait { [self] in state.withLock { $0.table.version != version } }
      }
      await group.next()
      group.cancelAll()
    }
  }
}

extension LiveBatch: EventSink {
  package func receive(_ events: [DownloadEvent]) async { await receive(events, unfinished: []) }

  // At once, for a row that has failed may be asked for again at any moment after that.
  package func receive(_ events: [DownloadEvent], unfinished items: [WorkItem]) async {
    let isAskedAgain = state.withLock { state in
      state.table.receive(events, unfinished: items, isStarted: state.isStarted)
      return state.table.backlog > 0
    }
    if isAskedAgain { listSignal.raise() }
    watcher.note()
  }
}

extension LiveBatch.Counts {
  fileprivate init(_ state: LiveBatch.State) {
    let table = state.table
    isStarted = state.isStarted
    version = table.version
    all = table.rowCount
    isSettled = table.isSettled
    kinds = [:]
    for kind in DownloadRow.Kind.allCases { kinds[kind] = table.count(of: kind) }
  }
}
