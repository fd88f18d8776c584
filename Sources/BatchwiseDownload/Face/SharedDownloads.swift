// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Bodies that are asked for one by one, from anywhere: equal requests in flight are one transfer.
///
/// No task belongs to it. A transfer is begun by the caller who needs it first, goes on for as long as
/// anybody waits for it, and tells all who do; the last to go away cancels it and waits for its end.
final class SharedDownloads: Sendable {
  private let run: DownloadRun
  private let desk = SharedDesk()

  init(
    _ transport: any Transport, options: DownloadOptions, digests: (any DigestMaker)?,
    capacity: Int
  ) {
    var options = options
    options.collisions = .suffix
    let store = BodyStore(capacity: capacity, limit: options.limit, staysFull: false)
    run = DownloadRun(
      transport, to: .memory(store), options: options, digests: digests,
      onNews: { [desk] run in desk.settle(run.takeNews(), of: run) })
  }

  /// Waits for a body, and has it downloaded unless that is under way.
  func data(from item: WorkItem) async throws -> DownloadedBody {
    let waiter = desk.newWaiter()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        switch desk.park(waiter, continuation, for: item) {
        case .waits: break
        case .cancelled: continuation.resume(returning: .failure(CancellationError()))
        case .isFirst(let serial): begin(item, serial)
        }
      }
    } onCancel: {
      if let id = desk.cancel(waiter) { run.abandon(id) }
    }
    desk.forget(waiter)
    return try result.get()
  }

  /// How many callers wait for a transfer.
  var waiters: Int { desk.count }

  /// What is in flight and waits for its turn.
  var status: DownloadStatus { run.status }

  /// The room that bodies on their way take.
  var room: BodyRoom? { run.context.destination.store?.room }

  private func begin(_ item: WorkItem, _ serial: Int) {
    var item = item
    item.name = "\(serial)"
    switch run.entry(for: item) {
    case .flawed(_, let failure):
      desk.end(serial, .failure(failure.with(url: WebAddress.shown(item.address))))
    case let entry:
      let id = run.add(entry)
      // Everybody may have gone away before there was a number to abandon.
      if desk.note(id, of: serial) { run.abandon(id) }
    }
  }
}

/// Who waits for which transfer.
private final class SharedDesk: Sendable {
  typealias Continuation = CheckedContinuation<Result<DownloadedBody, any Error>, Never>

  private enum Waiter {
    /// It has come. Exits: parked, cancelled.
    case new
    /// It waits for that transfer. Exits: done, cancelled.
    case parked(serial: Int)
    /// It was cancelled, or has its answer. No exit.
    case over
  }

  private struct Entry {
    let identity: RequestIdentity
    /// The item's number in the run, once it has one.
    var id: Int?
    var waiters: [Int: Continuation] = [:]
    /// Whether nobody wants it any more but one who waits for its end.
    var isAbandoned = false
  }

  private struct State {
    var serial = 0
    var waiters: [Int: Waiter] = [:]
    var entries: [Int: Entry] = [:]
    /// The entries that further equal requests join.
    var leaders: [RequestIdentity: Int] = [:]
  }

  private let state = Mutex(State())

  enum Parking {
    case waits
    case cancelled
    case isFirst(serial: Int)
  }

  func newWaiter() -> Int {
    state.withLock { state in
      state.serial += 1
      state.waiters[state.serial] = .new
      return state.serial
    }
  }

  func forget(_ waiter: Int) { state.withLock { $0.waiters[waiter] = nil } }

  /// Lets a waiter wait for the transfer of its item, unless it was cancelled.
  func park(_ waiter: Int, _ continuation: Continuation, for item: WorkItem) -> Parking {
    let identity = RequestIdentity(ofBody: item)
    return state.withLock { state in
      guard case .new = state.waiters[waiter] else { return .cancelled }
      if let serial = state.leaders[identity] {
        state.waiters[waiter] = .parked(serial: serial)
        state.entries[serial]?.waiters[waiter] = continuation
        return .waits
      }
      // A waiter's own number serves its transfer too.
      state.waiters[waiter] = .parked(serial: waiter)
      state.entries[waiter] = Entry(identity: identity, waiters: [waiter: continuation])
      state.leaders[identity] = waiter
      return .isFirst(serial: waiter)
    }
  }

  /// Cancels a waiter, which leaves the transfer to the others.
  ///
  /// - Returns: The number of the item that is to be abandoned; the waiter then waits for its end.
  func cancel(_ waiter: Int) -> Int? {
    let (continuation, id) = state.withLock { state -> (Continuation?, Int?) in
      switch state.waiters[waiter] {
      case .new:
        state.waiters[waiter] = .over
        return (nil, nil)
      case .parked(let serial):
        guard var entry = state.entries[serial] else { return (nil, nil) }
        if entry.waiters.count > 1 {
          state.waiters[waiter] = .over
          let continuation = entry.waiters.removeValue(forKey: waiter)
          state.entries[serial] = entry
          return (continuation, nil)
        }
        entry.isAbandoned = true
        state.entries[serial] = entry
        if state.leaders[entry.identity] == serial { state.leaders[entry.identity] = nil }
        return (nil, entry.id)
      case .over, nil: return (nil, nil)
      }
    }
    continuation?.resume(returning: .failure(CancellationError()))
    return id
  }

  /// Takes note of an item's number, and returns whether it is to be abandoned.
  func note(_ id: Int, of serial: Int) -> Bool {
    state.withLock { state in
      state.entries[serial]?.id = id
      return state.entries[serial]?.isAbandoned ?? false
    }
  }

  /// How many wait for a transfer.
  var count: Int {
    state.withLock { state in
      state.waiters.values.count { if case .parked = $0 { true } else { false } }
    }
  }

  /// Tells all who wait for a transfer what became of it.
  func end(_ serial: Int, _ result: Result<DownloadedBody, any Error>) {
    let entry = state.withLock { state in
      let entry = state.entries.removeValue(forKey: serial)
      if let entry, state.leaders[entry.identity] == serial { state.leaders[entry.identity] = nil }
      return entry
    }
    for (_, continuation) in entry?.waiters ?? [:] { continuation.resume(returning: result) }
  }

  /// Settles what has happened, on the thread where it did.
  func settle(_ news: [DownloadNews], of run: DownloadRun) {
    for news in news {
      switch news {
      case .whole(let file):
        guard var download = file.download else { continue }
        download.duration = run.duration(of: file.job)
        run.settled(file, .done(download))
        end(file.job.item, DownloadedBody(download, file.body).map { .success($0) })
      case .failed(let event, let remains, _):
        guard case .failed(let failure, _) = event.kind else { continue }
        end(remains.item, .failure(failure.with(url: event.url)))
      case .left(let remains, _): end(remains.item, .failure(CancellationError()))
      case .event, .kept, .restored: continue
      }
    }
  }

  private func end(_ item: PlannedItem, _ result: Result<DownloadedBody, any Error>?) {
    guard let serial = item.source.name.flatMap({ Int($0) }), let result else { return }
    end(serial, result)
  }
}
