// SPDX-License-Identifier: Apache-2.0

/// The rows of a batch that grows while it runs: what is known of each, and which are to be handed out.
///
/// A value between those who add rows or ask for one again, the run, which knows items by the order in
/// which it was handed them, and those who look.
struct RowTable {
  /// The addresses of all rows, as they were added; they may hold passwords, so they are shown only as
  /// ``row(_:)`` does, which for most is never asked.
  private var addresses: [String] = []
  private var states: [DownloadRow.State] = []
  /// How many changes there were; two equal numbers are one state.
  private(set) var version = 0
  private var counts = [Int](repeating: 0, count: DownloadRow.Kind.allCases.count)

  /// Rows that the run has not been handed, from `firstWaiting` on.
  private var waiting: [Int] = []
  private var firstWaiting = 0
  /// Rows by the numbers of their items in the run, less one.
  private var handedOut: [Int] = []
  /// The items of rows that are not done and may be asked for again.
  private var items: [Kept?] = []
  /// Rows in flight when all was cancelled, of which the run has not yet said what became of them.
  private var cancelled: Set<Int> = []
  /// Rows that are new or have changed since somebody took note of them; nil if nobody does.
  private var changed: Set<Int>?

  /// Makes a table without rows; one that is to take note of which rows change says so.
  init(notesChanges: Bool = false) { changed = notesChanges ? [] : nil }

  /// An item apart from its row, so that the row of one that is done is small.
  private final class Kept: Sendable {
    let item: WorkItem

    init(_ item: WorkItem) { self.item = item }
  }

  /// How many rows the run has not been handed.
  var backlog: Int { waiting.count - firstWaiting }

  /// How many rows there are.
  var rowCount: Int { states.count }

  /// What is known of a row, if there is one of that number.
  func row(_ id: Int) -> DownloadRow? {
    guard states.indices.contains(id) else { return nil }
    return DownloadRow(id: id, url: WebAddress.shown(addresses[id]), state: states[id])
  }

  /// How many rows are in a state.
  func count(of kind: DownloadRow.Kind) -> Int { counts[kind.index] }

  /// Whether every row has ended.
  var isSettled: Bool { [.waiting, .inFlight, .pausing].allSatisfy { count(of: $0) == 0 } }

  /// The row that an item of the run stands for.
  func row(ofItem id: Int) -> Int? { handedOut.indices.contains(id - 1) ? handedOut[id - 1] : nil }

  /// Some of the rows in these states, or in all, those first that were added first.
  ///
  /// - Complexity: O(*n*) for *n* rows, and O(`count`) for all states.
  func rows(
    _ kinds: Set<DownloadRow.Kind>?, from start: Int, atMost count: Int
  ) -> [DownloadRow] {
    guard let kinds else { return states.indices.dropFirst(start).prefix(count).compactMap(row) }
    return states.indices.lazy.filter { kinds.contains(states[$0].kind) }.dropFirst(start)
      .prefix(count).compactMap(row)
  }

  /// The rows that are new or have changed since the last call, in the order in which they were added.
  ///
  /// - Complexity: O(*n* log *n*) for *n* such rows.
  mutating func takeChanged() -> [DownloadRow] {
    guard let ids = changed, !ids.isEmpty else { return [] }
    changed = []
    return ids.sorted().compactMap(row)
  }

  /// Takes note of a change of something else.
  mutating func noteChange() { version += 1 }

  // MARK: - Those who add

  /// Adds rows behind all others.
  mutating func add(_ new: some Sequence<WorkItem>) {
    for var item in new {
      let id = states.count
      item.mark = RowMark(row: id)
      addresses.append(item.address)
      states.append(.waiting)
      changed?.insert(id)
      counts[DownloadRow.Kind.waiting.index] += 1
      items.append(Kept(item))
      waiting.append(id)
    }
    version += 1
  }

  /// Asks again for a row that has failed or was left, and returns whether it has.
  mutating func retry(_ id: Int) -> Bool {
    guard states.indices.contains(id), items[id] != nil,
      states[id].kind == .failed || states[id].kind == .left
    else { return false }
    set(.waiting, of: id)
    waiting.append(id)
    version += 1
    return true
  }

  /// Asks again for all rows in a state, and returns how many those are.
  mutating func retryAll(_ kind: DownloadRow.Kind) -> Int {
    count(of: kind) == 0 ? 0 : states.indices.count { states[$0].kind == kind && retry($0) }
  }

  /// Leaves what has not been handed out, and returns the items of the run that have not ended.
  ///
  /// Those are left when the run says so, if it does.
  mutating func leaveWaiting() -> [Int] {
    // The run has never heard of them, so there is no end in it to be taken back.
    for id in waiting[firstWaiting...] { set(.left, of: id) }
    waiting = []
    firstWaiting = 0
    version += 1
    let unended = handedOut.indices.filter { !states[handedOut[$0]].kind.isEnd }
    cancelled.formUnion(unended.map { handedOut[$0] })
    return unended.map { $0 + 1 }
  }

  // MARK: - The run

  /// Hands out the next items.
  mutating func take(upTo count: Int) -> [WorkItem] {
    let next = waiting[firstWaiting...].prefix(count)
    let taken = next.compactMap { items[$0]?.item }
    handedOut += next
    firstWaiting += next.count
    if firstWaiting == waiting.count || firstWaiting > 4096 {
      waiting.removeFirst(firstWaiting)
      firstWaiting = 0
    }
    return taken
  }

  /// Takes note of what has happened in the run, and of the items that have failed or are left by it.
  ///
  /// - Parameters:
  ///   - events: What has happened.
  ///   - unfinished: The items that have failed or are left.
  ///   - isStarted: Whether rows are handed out. Then a row that is left because all was cancelled
  ///     before is asked for again: the start after it did not yet find it.
  mutating func receive(
    _ events: some Sequence<DownloadEvent>, unfinished: [WorkItem] = [], isStarted: Bool = false
  ) {
    let known = Set(unfinished.compactMap(\.mark?.row))
    for event in events {
      guard let id = row(ofItem: event.id) else { continue }
      switch event.kind {
      case .started(let attempt): set(.inFlight(attempt: attempt), of: id)
      case .retry(_, let failure, _): set(.pausing(failure), of: id)
      case .done(let file): set(.done(file), of: id)
      case .skipped(let reason, let file): set(.skipped(reason, file: file), of: id)
      case .failed(let failure, _):
        mark(id) { $0.end = .failed }
        set(.failed(failure), of: id)
        // A run has nothing left of one that is no request at all.
        if !known.contains(id) { items[id] = nil }
      }
    }
    for item in unfinished {
      guard let mark = item.mark else { continue }
      self.mark(mark.row) { $0.path = mark.path }
      // The others have failed.
      guard !states[mark.row].kind.isEnd else { continue }
      self.mark(mark.row) { $0.end = .left }
      set(.left, of: mark.row)
      if cancelled.contains(mark.row), isStarted { _ = retry(mark.row) }
      cancelled.remove(mark.row)
    }
    version += 1
  }

  /// The run has ended: what it has not brought to an end is left, and may be handed to another one.
  mutating func end() {
    for id in states.indices where !states[id].kind.isEnd { set(.left, of: id) }
    for id in handedOut { mark(id) { $0.end = .before } }
    handedOut = []
    waiting = []
    firstWaiting = 0
    cancelled = []
    version += 1
  }

  private mutating func mark(_ id: Int, _ change: (inout RowMark) -> Void) {
    guard var item = items[id]?.item, var mark = item.mark else { return }
    change(&mark)
    item.mark = mark
    items[id] = Kept(item)
  }

  private mutating func set(_ state: DownloadRow.State, of id: Int) {
    counts[states[id].kind.index] -= 1
    states[id] = state
    counts[state.kind.index] += 1
    changed?.insert(id)
    switch state {
    case .done, .skipped:
      items[id] = nil
      cancelled.remove(id)
    case .failed: cancelled.remove(id)
    case .waiting, .inFlight, .pausing, .left: break
    }
  }

  /// The items that are not done, in the order of their rows, but for those that never can be.
  var unfinished: [WorkItem] { items.compactMap { $0?.item }.filter { $0.flaw == nil } }
}

extension DownloadRow.Kind {
  fileprivate var index: Int {
    switch self {
    case .waiting: 0
    case .inFlight: 1
    case .pausing: 2
    case .done: 3
    case .skipped: 4
    case .failed: 5
    case .left: 6
    }
  }

  /// Whether nothing more becomes of a row by itself.
  fileprivate var isEnd: Bool {
    switch self {
    case .waiting, .inFlight, .pausing: false
    case .done, .skipped, .failed, .left: true
    }
  }
}
