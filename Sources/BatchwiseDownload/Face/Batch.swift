// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Takes what comes of a batch.
protocol BatchOutlet<Value>: AnyObject, Sendable {
  associatedtype Value: BatchValue

  /// How many requests may have a place now, if so many have one: no more are read then.
  func room(besides places: Int) -> Int

  /// Waits until there may be room, or until the task is cancelled.
  func waitForRoom() async

  /// Takes note that the list cannot be read on.
  func listFailed()

  /// Takes an outcome, with what holds the room of its bytes, which is let go of with it.
  func take(_ outcome: DownloadOutcome<Value>, _ body: HeldBody?)
}

/// One batch on its way: between its requests, its run and its outlet.
final class Batch<Value: BatchValue>: Sendable {
  private let outlet: any BatchOutlet<Value>
  private let store: BodyStore?
  private let sink: (any EventSink)?
  private let ledger: Mutex<BatchLedger<Value>>
  private let sourceError = Mutex<(any Error)?>(nil)

  init(
    to outlet: any BatchOutlet<Value>, store: BodyStore?, sink: (any EventSink)?,
    remembering memory: BatchLedger<Value>.Memory
  ) {
    self.outlet = outlet
    self.store = store
    self.sink = sink
    ledger = Mutex(BatchLedger(remembering: memory))
  }

  /// Runs the batch to its end.
  ///
  /// - Throws: What kept it from going on: the source's error, a failure of the journal or the disk,
  ///   or a `CancellationError` if it was cancelled or stopped before everything was done.
  func run(_ feed: some RequestFeed, by run: DownloadRun) async throws {
    let report = await run.run(Source(feed: feed, batch: self), reportingTo: self)
    if let error = sourceError.withLock({ $0 }) { throw error }
    switch report.ending {
    case .listDone: return
    case .stopped: throw CancellationError()
    case .diskFull:
      throw DownloadFailure(.disk, "No room is left for files", remedy: .moreRoom)
    case .journalFailed(let error): throw error
    case .listNotUnderstood(let error): throw error
    case .listUnreadable(let cause): throw DownloadFailure(.badURL, cause)
    }
  }

  private func tell(
    _ places: [BatchLedger<Value>.Place], _ result: Result<Value, DownloadFailure>,
    _ body: HeldBody? = nil
  ) {
    for place in places {
      outlet.take(
        DownloadOutcome(
          offset: place.offset, request: place.item.downloadRequest,
          result: result.mapError { failure in
            failure.with(url: failure.url ?? WebAddress.shown(place.item.address))
          }), body)
    }
  }
}

extension Batch: EventSink {
  func receive(_ events: [DownloadEvent]) async {
    for event in events { receive(event) }
    await sink?.receive(events)
  }

  func receive(unfinished items: [WorkItem]) async { await sink?.receive(unfinished: items) }

  private func receive(_ event: DownloadEvent) {
    let result: Result<Value, DownloadFailure>?
    var body: HeldBody?
    switch event.kind {
    case .started, .retry: return
    case .done(let file):
      body = store?.take(event.id)
      result = Value(file, body).map { .success($0) }
    case .failed(let failure, _): result = .failure(failure.with(url: event.url))
    case .skipped(.duplicate, _):
      let (places, known) = ledger.withLock { $0.duplicate(event.id) }
      if let result = known ?? Value(.duplicate, file: nil).map({ .success($0) }) {
        tell(places, result)
      }
      return
    case .skipped(let reason, let file):
      result = Value(reason, file: file).map { .success($0) }
    }
    guard let result else { return }
    tell(ledger.withLock { $0.end(event.id, result) }, result, body)
  }
}

extension Batch {
  /// Hands requests out to the run, as far as the outlet has room for what comes of them.
  struct Source<Feed: RequestFeed>: WorkSource {
    var feed: Feed
    let batch: Batch
    private var isAtEnd = false

    init(feed: Feed, batch: Batch) {
      self.feed = feed
      self.batch = batch
    }

    mutating func next(upTo count: Int) async throws -> [WorkItem]? {
      var items: [WorkItem] = []
      while items.count < count, !isAtEnd {
        guard batch.hasRoom else {
          if !items.isEmpty { return items }
          await batch.outlet.waitForRoom()
          try Task.checkCancellation()
          continue
        }
        if !items.isEmpty, !feed.isImmediate { return items }
        let next: WorkItem?
        do {
          next = try await feed.next()
        } catch {
          if !Task.isCancelled {
            batch.sourceError.withLock { $0 = error }
            batch.outlet.listFailed()
          }
          throw error
        }
        guard let next else {
          isAtEnd = true
          break
        }
        if let item = batch.register(next) { items.append(item) }
      }
      return items.isEmpty ? nil : items
    }
  }

  private var hasRoom: Bool { outlet.room(besides: ledger.withLock { $0.count }) > 0 }

  private func register(_ item: WorkItem) -> WorkItem? {
    let (handedOut, outcome) = ledger.withLock { $0.register(item) }
    if let (place, result) = outcome { tell([place], result) }
    return handedOut
  }
}

extension WebAddress {
  /// An address as it is shown, if it is one or not.
  static func shown(_ text: String) -> String {
    (try? WebAddress(text))?.redacted ?? redacting(text)
  }
}
