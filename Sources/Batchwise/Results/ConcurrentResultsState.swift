// SPDX-License-Identifier: Apache-2.0

/// The rule by which outcomes reach their reader: a pure value whose events return who is to be
/// woken.
@usableFromInline
struct ConcurrentResultsState<Value, SourceFailure: Error, Waiter> {
  /// What the reader does next.
  @usableFromInline enum Answer {
    /// Read the outcomes that were handed over.
    case values
    /// Park, and ask again when woken.
    case wait
    /// The source failed, behind all outcomes that were read.
    case failed(SourceFailure)
    /// There are no more outcomes.
    case over
  }

  @usableFromInline enum Phase {
    /// Outcomes may still arrive. Exits: sourceFailed, complete, cancelled.
    case running
    /// As running, but the source has failed. Exits: complete, cancelled.
    case sourceFailed(SourceFailure)
    /// All outcomes have arrived; some may be unread, and a failure unreported. Exit: cancelled.
    case complete(SourceFailure?)
    /// Nobody reads any more. No exit.
    case cancelled
  }

  /// Outcomes that were not handed over.
  @usableFromInline struct Unread {
    /// Those that wait for an earlier one; nil in completion order.
    @usableFromInline var early: ReorderBuffer<Value>?
    /// Those that can be read now, in order.
    @usableFromInline var ready: [Value] = []

    @inlinable init() {}
  }

  @usableFromInline var phase = Phase.running
  @usableFromInline var unread = Unread()
  @usableFromInline var parkedReader: Waiter?

  @usableFromInline init(order: ConcurrentResultsOrder) {
    switch order.kind {
    case .source: unread.early = ReorderBuffer()
    case .completion: break
    }
  }

  /// Takes in the outcome of the element at `offset`, and returns who is to be woken.
  @inlinable mutating func insert(_ value: Value, at offset: Int) -> Waiter? {
    if case .cancelled = phase { return nil }
    if unread.early == nil {
      unread.ready.append(value)
    } else if unread.early?.nextOffset == offset {
      unread.ready.append(value)
      unread.early?.skip()
      while let next = unread.early?.popNext() { unread.ready.append(next) }
    } else {
      unread.early?.insert(value, at: offset)
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
  ///
  /// All outcomes that can be read are handed over at once, in exchange for an empty list with room.
  @inlinable mutating func next(handingOverInto values: inout [Value]) -> Answer {
    if !unread.ready.isEmpty {
      swap(&unread.ready, &values)
      return .values
    }
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
