// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// The search for a first success: an engine with the roles of success and failure exchanged.
///
/// What a transformation returns ends the run, as a failure does elsewhere. What it throws is an
/// output like another, of which the earliest is kept.
@usableFromInline
final class FirstSuccess<Element: Sendable, Output: Sendable, Failure: Error>: Sendable {
  @usableFromInline typealias Transform = @Sendable (Element) async throws(Failure) -> Output

  /// What ends the search before its source does.
  @usableFromInline enum Ending: Error {
    case found(Output)
    case cancelled(Failure)
  }

  @usableFromInline let engine: Engine<Element, Failure, Ending>
  @usableFromInline let failures: EarliestFailure<Failure>

  @inlinable init(_ limits: FeedLimits, transform: @escaping Transform) {
    let cancellation = CancellationError() as? Failure
    let failures = EarliestFailure<Failure>()
    self.failures = failures
    engine = Engine(
      limits, outlet: .sink { { offset, failure in failures.note(failure, at: offset) } },
      cancellation: cancellation.map { .fails(.cancelled($0)) } ?? .ignored
    ) { element throws(Ending) in
      let output: Output
      do throws(Failure) {
        output = try await transform(element)
      } catch {
        // What fails because the caller was cancelled says nothing about the element.
        if Task.isCancelled, let cancellation { throw .cancelled(cancellation) }
        return error
      }
      throw .found(output)
    }
  }

  /// How the search ended: with a success, with nothing to search, or with a failure.
  @inlinable func outcome() throws(Failure) -> Output? {
    do throws(Ending) {
      try engine.checkCompletion()
    } catch {
      switch error {
      case .found(let output): return output
      case .cancelled(let cancellation): throw cancellation
      }
    }
    if let failure = failures.earliest { throw failure }
    return nil
  }
}

/// Keeps, of all failures it is told of, the one that stands first in the source.
@usableFromInline
final class EarliestFailure<Failure: Error>: Sendable {
  @usableFromInline let offset = Atomic<Int>(.max)
  @usableFromInline let kept = Mutex<(offset: Int, failure: Failure)?>(nil)

  @usableFromInline init() {}

  /// The earliest failure so far.
  @usableFromInline var earliest: Failure? { kept.withLock { $0?.failure } }

  /// Notes the failure of an element.
  ///
  /// Few failures are earlier than all before them, so few come to the lock.
  @inlinable func note(_ failure: Failure, at offset: Int) {
    if offset < self.offset.load(ordering: .relaxed) { keep(failure, at: offset) }
  }

  @usableFromInline func keep(_ failure: Failure, at offset: Int) {
    let dropped = kept.withLock { kept in
      if let kept, kept.offset < offset { return nil as Failure? }
      defer { kept = (offset, failure) }
      self.offset.store(offset, ordering: .relaxed)
      return kept?.failure
    }
    // Let go of outside the lock, for that may run a `deinit` of the user.
    _ = dropped
  }

  /// Notes the failure of the source, which stands before those of all elements: with it, elements
  /// that nobody has seen are lost.
  @usableFromInline func noteSource(_ failure: Failure) {
    note(failure, at: -1)
  }
}
