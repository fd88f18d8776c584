// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The outcomes of a batch on their way to a reader.
///
/// At most so many requests have a place and are not read: no more are read from the list then.
final class OutcomeStorage<Value: BatchValue>: BatchOutlet {
  private struct State {
    /// Outcomes that can be read, by their places, or by their numbers in the order of finishing.
    var ready: [Int: (outcome: DownloadOutcome<Value>, body: HeldBody?)] = [:]
    var finished = 0
    var read = 0
    var isOver = false
  }

  private let order: OutcomeOrder
  private let window: Int
  private let state = Mutex(State())
  /// Raised when an outcome can be read, or there is none to come.
  private let readySignal = Signal()
  /// Raised when an outcome was read.
  private let roomSignal = Signal()

  init(order: OutcomeOrder, window: Int) {
    self.order = order
    self.window = window
  }

  // MARK: The batch's side

  func room(besides places: Int) -> Int { window - (places - state.withLock { $0.read }) }

  func listFailed() {}

  func waitForRoom() async { await roomSignal.waitUnlessCancelled() }

  func take(_ outcome: DownloadOutcome<Value>, _ body: HeldBody?) {
    let isNext = state.withLock { state in
      let number = order == .source ? outcome.offset : state.finished
      state.finished += 1
      state.ready[number] = (outcome, body)
      return number == state.read
    }
    if isNext { readySignal.raise() }
  }

  /// Nothing more will come.
  func end() {
    state.withLock { $0.isOver = true }
    readySignal.raise()
  }

  // MARK: The reader's side

  enum Next {
    case outcome(DownloadOutcome<Value>)
    case wait
    case over
  }

  /// The next outcome, if it is there.
  func next() -> Next {
    // What holds the room of a body is let go of when the lock is gone.
    let (next, body) = state.withLock { state -> (Next, HeldBody?) in
      guard let (outcome, body) = state.ready.removeValue(forKey: state.read) else {
        return (state.isOver ? .over : .wait, nil)
      }
      state.read += 1
      return (.outcome(outcome), body)
    }
    if case .outcome = next { roomSignal.raise() }
    withExtendedLifetime(body) {}
    return next
  }

  /// Waits until the next outcome may be there, or until the task is cancelled.
  func wait() async { await readySignal.waitUnlessCancelled() }

  /// Lets go of what nobody will read.
  func clear() {
    let rest = state.withLock { exchange(&$0.ready, with: [:]) }
    withExtendedLifetime(rest) {}
  }
}

/// The sequence behind `outcomes(of:)`, of which every iterator is a batch of its own.
struct OutcomeSequence<Value: BatchValue>: AsyncSequence, Sendable {
  typealias Element = DownloadOutcome<Value>
  typealias Failure = any Error

  let order: OutcomeOrder
  let window: Int
  let run: @Sendable (OutcomeStorage<Value>) async throws -> Void

  func makeAsyncIterator() -> Iterator {
    Iterator(reading: OutcomeReading(OutcomeStorage(order: order, window: window), run))
  }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate let reading: OutcomeReading<Value>

    mutating func next() async throws -> Element? { try await next(isolation: #isolation) }

    mutating func next(isolation: isolated (any Actor)?) async throws(any Error) -> Element? {
      try await reading.next(isolation: isolation)
    }
  }
}

@available(*, unavailable)
extension OutcomeSequence.Iterator: Sendable {}

/// One batch whose outcomes are read, owned by its iterator.
///
/// It goes on between two calls of `next()`, so its task cannot be a child of the reader's. It is owned
/// here instead: `next()` awaits it before it returns or throws the last time, and dropping the
/// iterator cancels it.
private final class OutcomeReading<Value: BatchValue> {
  private enum Phase {
    /// Nobody has asked for an outcome. Exits: running, over.
    case new
    /// The batch is under way. Exit: over.
    case running(Task<Void, any Error>)
    /// The batch has been awaited, or was never needed. No exit.
    case over
  }

  private var phase = Phase.new
  private let storage: OutcomeStorage<Value>
  private let run: @Sendable (OutcomeStorage<Value>) async throws -> Void

  init(
    _ storage: OutcomeStorage<Value>,
    _ run: @escaping @Sendable (OutcomeStorage<Value>) async throws -> Void
  ) {
    self.storage = storage
    self.run = run
  }

  deinit {
    if case .running(let task) = phase { task.cancel() }
    storage.clear()
  }

  func next(isolation: isolated (any Actor)?) async throws -> DownloadOutcome<Value>? {
    if case .over = phase { return nil }
    if case .new = phase, !Task.isCancelled {
      phase = .running(
        Task { [run, storage] in
          defer { storage.end() }
          try await run(storage)
        })
    }
    guard case .running(let task) = phase else {
      phase = .over
      throw CancellationError()
    }
    while !Task.isCancelled {
      switch storage.next() {
      case .outcome(let outcome): return outcome
      case .wait: await storage.wait()
      case .over:
        phase = .over
        try await task.value
        return nil
      }
    }
    phase = .over
    task.cancel()
    storage.clear()
    _ = await task.result
    storage.clear()
    throw CancellationError()
  }
}
