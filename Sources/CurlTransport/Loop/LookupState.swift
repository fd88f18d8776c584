// SPDX-License-Identifier: Apache-2.0

/// Whose turn it is to have a host's name looked up.
///
/// libcurl starts a thread for every transfer whose host is not in its cache, however many want the
/// same one, and knows no limit. Here the first transfer to a host goes ahead, and further ones
/// wait until its name is known. They share its failure too: one question has one answer. And only
/// so many names are asked for at once; resolvers drop questions when there are too many.
///
/// A pure value: its methods return who may go on now.
package struct LookupState<Waiter: Equatable & Sendable>: Sendable {
  /// What a new transfer does.
  package enum Turn: Equatable, Sendable {
    /// Begins; its host needs no lookup.
    case go
    /// Begins, and looks its host up if need be.
    case lookUp
    /// Waits for another's lookup, or for fewer of them.
    case wait
  }

  /// What follows from the end of a lookup.
  package struct Outcome: Equatable, Sendable {
    /// Who begins, with no lookup.
    package var go: [Waiter] = []
    /// Who begins, and looks this host up if need be.
    package var lookUp: [Leader] = []
    /// Who fails as the one did that looked the host up.
    package var fail: [Waiter] = []

    /// Nothing but what is given.
    package init(go: [Waiter] = [], lookUp: [Leader] = [], fail: [Waiter] = []) {
      self.go = go
      self.lookUp = lookUp
      self.fail = fail
    }

    package var isEmpty: Bool { go.isEmpty && lookUp.isEmpty && fail.isEmpty }
  }

  /// Who looks up which host.
  package struct Leader: Equatable, Sendable {
    package let waiter: Waiter
    package let host: String

    package init(waiter: Waiter, host: String) {
      self.waiter = waiter
      self.host = host
    }
  }

  private struct Entry {
    var isLookingUp: Bool
    var waiting: [Waiter]
  }

  private let limit: Int
  private let memory: Duration
  private var entries: [String: Entry] = [:]
  private var lookingUp = 0
  // Hosts that wait until fewer are looked up, the longest wait first from `first` on.
  private var backlog: [String] = []
  private var first = 0
  // When each host that was looked up is to be looked up again: two halves, of which the older is
  // dropped whole when all in it is out of date.
  private var known: [String: Duration] = [:]
  private var older: [String: Duration] = [:]
  private var nextTurnover: Duration?

  /// Knows no host.
  ///
  /// - Parameters:
  ///   - limit: The most lookups at once.
  ///   - memory: For how long a host is known; less than libcurl's cache keeps it.
  package init(limit: Int, memory: Duration) {
    self.limit = limit
    self.memory = memory
  }

  /// How many transfers wait.
  package var waiting: Int { entries.values.reduce(0) { $0 + $1.waiting.count } }

  /// Says what a transfer to a host does that is to begin now.
  package mutating func turn(
    of waiter: Waiter, to host: String, at now: Duration
  ) -> Turn {
    if expiry(of: host, at: now) != nil { return .go }
    if entries[host] != nil {
      entries[host]?.waiting.append(waiter)
      return .wait
    }
    if lookingUp < limit {
      lookingUp += 1
      entries[host] = Entry(isLookingUp: true, waiting: [])
      return .lookUp
    }
    entries[host] = Entry(isLookingUp: false, waiting: [waiter])
    backlog.append(host)
    return .wait
  }

  /// Until when a host's name is known; nothing if it is not.
  package mutating func expiry(
    of host: String, at now: Duration
  ) -> Duration? {
    guard let expiry = known[host] ?? older[host], expiry > now else { return nil }
    return expiry
  }

  /// Learns that a host's name is known from now on, by a lookup.
  package mutating func found(_ host: String, at now: Duration) -> Outcome {
    guard let entry = end(host) else { return Outcome() }
    turnOver(at: now)
    known[host] = now + memory
    var outcome = Outcome(go: entry.waiting)
    fillUp(&outcome)
    return outcome
  }

  /// Learns that who had a host's turn needed no lookup, or was cancelled in it: the next has it.
  package mutating func passed(_ host: String) -> Outcome {
    guard var entry = end(host) else { return Outcome() }
    var outcome = Outcome()
    if !entry.waiting.isEmpty {
      outcome.lookUp.append(Leader(waiter: entry.waiting.removeFirst(), host: host))
      lookingUp += 1
      entries[host] = entry
    }
    fillUp(&outcome)
    return outcome
  }

  /// Learns that a host's lookup has failed.
  package mutating func failed(_ host: String) -> Outcome {
    guard let entry = end(host) else { return Outcome() }
    var outcome = Outcome(fail: entry.waiting)
    fillUp(&outcome)
    return outcome
  }

  /// Learns that a transfer no longer waits.
  package mutating func withdraw(_ waiter: Waiter, from host: String) {
    guard let index = entries[host]?.waiting.firstIndex(of: waiter) else { return }
    entries[host]?.waiting.remove(at: index)
    // An entry that nobody waits for keeps its place in the backlog, and is passed over there.
  }

  private mutating func end(_ host: String) -> Entry? {
    guard let entry = entries[host], entry.isLookingUp else { return nil }
    entries[host] = nil
    lookingUp -= 1
    return entry
  }

  private mutating func fillUp(_ outcome: inout Outcome) {
    while lookingUp < limit, first < backlog.count {
      let host = backlog[first]
      first += 1
      guard var entry = entries[host], !entry.isLookingUp else { continue }
      if entry.waiting.isEmpty {
        entries[host] = nil
        continue
      }
      outcome.lookUp.append(Leader(waiter: entry.waiting.removeFirst(), host: host))
      lookingUp += 1
      entry.isLookingUp = true
      entries[host] = entry
    }
    if first == backlog.count {
      backlog.removeAll(keepingCapacity: true)
      first = 0
    } else if first > 64, first * 2 > backlog.count {
      backlog.removeFirst(first)
      first = 0
    }
  }

  private mutating func turnOver(at now: Duration) {
    if let next = nextTurnover, now < next { return }
    older = known
    known = [:]
    nextTurnover = now + memory
  }
}
