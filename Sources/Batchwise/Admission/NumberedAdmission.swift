// SPDX-License-Identifier: Apache-2.0

/// The rule of who may start next, for waiters that are numbers.
///
/// Other modules see no further than the face of ``AdmissionState`` and would run it unspecialised,
/// several times as slowly; this is compiled here, for one kind of waiter.
package struct NumberedAdmission {
  private var state: AdmissionState<Int>

  /// What was granted, to be given back with `leave`.
  package struct Grant: Sendable {
    fileprivate let grant: AdmissionState<Int>.Grant
  }

  /// A number's place among those that wait.
  package struct Ticket: Sendable {
    fileprivate let id: AdmissionState<Int>.ID
  }

  /// Creates a state in which nobody waits; see ``AdmissionState``.
  package init(limit: Int, keyLimit: Int, rate: RateLimit?) {
    state = AdmissionState(limit: limit, keyLimit: keyLimit, rate: rate)
  }

  /// Notes that somebody has come who may wait later, once or several times.
  package mutating func newArrival(at now: Duration) -> AdmissionArrival {
    state.newArrival(at: now)
  }

  /// Lets a number wait for its turn, where its arrival belongs.
  package mutating func wait(
    _ number: Int, key: AdmissionKey, arrival: AdmissionArrival?, at now: Duration
  ) -> Ticket {
    Ticket(id: state.wait(number, for: AdmissionRequest(key: key), arrival: arrival, at: now))
  }

  /// Takes a number out that no longer wants to start.
  package mutating func cancel(_ ticket: Ticket) { _ = state.cancel(ticket.id) }

  /// Takes out all that wait, those with the same key in their order.
  package mutating func cancelAll() -> [Int] { state.cancelAll() }

  /// Takes out the next number that may start; to be asked after every event until it is nil.
  package mutating func admit(at now: Duration) -> (number: Int, grant: Grant)? {
    state.admit(at: now).map { ($0.waiter, Grant(grant: $0.grant)) }
  }

  /// Gives back what was granted.
  package mutating func leave(_ grant: Grant) { state.leave(grant.grant) }

  /// When the rate lets the next one start, if it is the rate that keeps it from starting.
  package func nextStart(at now: Duration) -> Duration? { state.nextStart(at: now) }

  /// Sets the most in flight at once; zero lets nobody start.
  package mutating func setLimit(_ limit: Int) { state.setLimit(limit) }

  /// Gives a key a limit of its own, or with nil takes it away.
  package mutating func setLimit(_ limit: Int?, forKey key: AdmissionKey) {
    state.setLimit(limit, forKey: key)
  }

  /// Lets nobody start until `resume`.
  package mutating func pause() { state.pause() }

  /// Lets waiters start again.
  package mutating func resume() { state.resume() }
}
