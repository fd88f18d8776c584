// SPDX-License-Identifier: Apache-2.0

/// The rule by which outcomes reach their reader: a pure value whose events return who is to be
/// woken.
struct ConcurrentResultsState<Value, SourceFailure: Error, Waiter> {
  /// What the reader does next.
  enum Answer {
    /// Take this outcome.
    case value(Value)
    /// Park, and ask again when woken.
    case wait
    /// The source failed, behind all outcomes that were read.
    case failed(SourceFailure)
    /// There are no more outcomes.
    case over
  }

  private enum Phase {
    /// Outcomes may still arrive. Exits: sourceFailed, complete, cancelled.
    case running
    /// As running, but the source has failed. Exits: complete, cancelled.
    case sourceFailed(SourceFailure)
    /// All outcomes have arrived; some may be unread, and a failure unreported. Exit: cancelled.
    case complete(SourceFailure?)
    /// Nobody reads any more. No exit.
    case cancelled
  }

  /// Outcomes that were not read.
  struct Unread {
    /// Those that wait for an earlier one; nil in completion order.
    fileprivate var early: ReorderBuffer<Value>?
    /// Those that can be read now.
    fileprivate var ready = Queue<Value>()
  }

  private var phase = Phase.running
  private var unread = Unread()
  private var parkedReader: Waiter?

  init(order: ConcurrentResultsOrder) {
    switch order.kind {
    case .source: unread.early = ReorderBuffer()
    case .completion: break
    }
  }

  /// Takes in the outcome of the element at `offset`, and returns who is to be woken.
  mutating func insert(_ value: Value, at offset: Int) -> Waiter? {
    if case .cancelled = phase { return nil }
    if unread.early == nil {
      unread.ready.append(value)
    } else {
      unread.early?.insert(value, at: offset)
      while let next = unread.early?.popNext() { unread.ready.append(next) }
    }
    return unread.ready.isEmpty ? nil : parkedReader.take()
  }

  /// Notes that the source has failed; elements it gave before may still be in flight.
  mutating func failSource(_ failure: SourceFailure) {
    if case .running = phase { phase = .sourceFailed(failure) }
  }

  /// Notes that all outcomes have arrived, and returns who is to be woken.
  mutating func finish() -> Waiter? {
    switch phase {
    case .running: phase = .complete(nil)
    case .sourceFailed(let failure): phase = .complete(failure)
    case .complete, .cancelled: break
    }
    return parkedReader.take()
  }

  /// Gives up all outcomes, since nobody will read them, and returns them with who is to be woken.
  ///
  /// They are to be let go of outside the lock, for that may run a `deinit` of the user.
  mutating func cancel() -> (reader: Waiter?, unread: Unread) {
    phase = .cancelled
    defer { unread = Unread() }
    return (parkedReader.take(), unread)
  }

  /// What the reader does next.
  mutating func next() -> Answer {
    if let value = unread.ready.popFirst() { return .value(value) }
    switch phase {
    case .running, .sourceFailed: return .wait
    case .complete(let failure?):
      phase = .complete(nil)
      return .failed(failure)
    case .complete(nil), .cancelled: return .over
    }
  }

  /// Parks the reader, unless it should ask again at once.
  mutating func park(reader: Waiter) -> Bool {
    precondition(parkedReader == nil, "an iterator was asked for two elements at once")
    switch phase {
    case .running, .sourceFailed:
      guard unread.ready.isEmpty else { return false }
      parkedReader = reader
      return true
    case .complete, .cancelled: return false
    }
  }
}
