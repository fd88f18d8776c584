// SPDX-License-Identifier: Apache-2.0

/// How waiting for a permit ends.
enum LimiterTurn: Equatable {
  case granted(SlabID)
  case cancelled
}

/// What becomes of a request.
enum LimiterAnswer {
  /// It has its permit.
  case granted(SlabID)
  /// It has a place in the order, and is to be parked there.
  case waits(SlabID)
  /// It was asked from inside a hold, and may not share its permit.
  case isNested
}

/// A permit that is out.
private struct LimiterHold {
  let grant: AdmissionState<SlabID>.Grant
  /// The rule that admitted it, and the hold which that belongs to, if any.
  let rule: SlabID?
  let outer: SlabID?
  /// The rule for those inside it, once somebody asked.
  var inner: SlabID?
  /// Whether its owner has let go, and only those inside still use it.
  var isLeft = false
}

/// Who holds the permits of a limiter and who waits for one: a pure value whose events return who
/// is to be woken.
///
/// Someone who asks while holding a permit of the same limiter would wait for itself. So what is
/// asked from inside a hold is admitted by a rule of that hold's own, with as many permits as it
/// has: those inside take turns on it. Holds can be nested any number of times.
struct LimiterState<Waiter> {
  typealias Admission = AdmissionState<TicketID>
  typealias HoldID = SlabID
  typealias TicketID = SlabID
  /// The rule for those inside a hold; nil for the limiter's own.
  typealias RuleID = SlabID?

  /// Somebody to be woken, and what to tell it.
  typealias Woken = (waiter: Waiter, turn: LimiterTurn)

  /// A request that waits.
  struct Request {
    /// The rule it waits for, and the hold which that belongs to, if any.
    fileprivate let rule: RuleID
    fileprivate let outer: HoldID?
    /// Where it stands in the order of its rule; nil before it is there.
    fileprivate var place: Admission.ID?
    fileprivate var priority: Int
  }

  private var mainRule: Admission
  private var innerRules = Slab<Admission>()
  private var holds = Slab<LimiterHold>()
  private var tickets = Tickets<Waiter, LimiterTurn, Request>()
  private let nesting: PermitNesting

  init(_ admission: Admission, nesting: PermitNesting) {
    mainRule = admission
    self.nesting = nesting
  }

  // MARK: Events

  /// Grants a permit at once if that overtakes nobody.
  ///
  /// The holds that whoever asks is inside of are asked for only if there are any at all.
  mutating func enter(_ request: AdmissionRequest, inside holders: () -> [HoldID]) -> LimiterAnswer?
  {
    guard let (rule, outer) = rule(for: request, inside: holders) else { return .isNested }
    return enter(request, by: rule, outer: outer)
  }

  /// Notes that somebody has come who will ask for a permit, once or several times.
  mutating func newArrival() -> AdmissionArrival { mainRule.newArrival() }

  /// Grants a permit at once if that overtakes nobody, or else gives a place in the order.
  ///
  /// Who comes back with its `arrival` stands before all who came after it first did. Those inside
  /// a hold are counted apart, and stand behind each other there.
  mutating func enterOrWait(
    _ request: AdmissionRequest, inside holders: () -> [HoldID], arrival: AdmissionArrival? = nil,
    priority: () -> TaskPriority
  ) -> (answer: LimiterAnswer, woken: [Woken]) {
    guard let (rule, outer) = rule(for: request, inside: holders) else { return (.isNested, []) }
    if let answer = enter(request, by: rule, outer: outer) { return (answer, []) }
    var request = request
    request.priority = Int(priority().rawValue)
    var note = Request(rule: rule, outer: outer, priority: request.priority)
    let ticket = tickets.issue(note)
    note.place = update(rule) {
      $0.wait(ticket, for: request, arrival: outer == nil ? arrival : nil)
    }
    tickets.setNote(note, of: ticket)
    var woken: [Woken] = []
    admit(by: rule, into: &woken)
    return (.waits(ticket), woken)
  }

  /// Suspends the one who waits, unless it is decided already how its waiting ends.
  mutating func suspend(_ id: TicketID, _ waiter: Waiter) -> LimiterTurn? {
    tickets.suspend(id, waiter)
  }

  /// Takes the one who waits out of the order, unless it already has its permit.
  mutating func cancel(_ id: TicketID) -> [Woken] {
    guard let request = tickets[id], let place = request.place else { return [] }
    _ = update(request.rule) { $0.cancel(place) }
    var woken: [Woken] = []
    decide(id, .cancelled, into: &woken)
    admit(by: request.rule, into: &woken)
    return woken
  }

  /// Moves the one who waits forward, if the priority is higher than what it has.
  mutating func raise(_ id: TicketID, to priority: Int) -> [Woken] {
    guard var request = tickets[id], let place = request.place, request.priority < priority else {
      return []
    }
    request.priority = priority
    tickets.setNote(request, of: id)
    update(request.rule) { $0.setPriority(priority, of: place) }
    var woken: [Woken] = []
    admit(by: request.rule, into: &woken)
    return woken
  }

  /// Gives a permit back; while others share it, they keep it.
  mutating func leave(_ id: HoldID) -> [Woken] {
    var woken: [Woken] = []
    leave(id, into: &woken)
    return woken
  }

  private mutating func leave(_ id: HoldID, into woken: inout [Woken]) {
    guard let hold = holds[id] else { return }
    if let inner = hold.inner {
      guard innerRules.update(inner, { $0.inFlight == 0 }) else {
        holds.update(id) { $0.isLeft = true }
        return
      }
      _ = innerRules.remove(inner)
    }
    _ = holds.remove(id)
    update(hold.rule) { $0.leave(hold.grant) }
    admit(by: hold.rule, into: &woken)
    if let outer = hold.outer, holds[outer]?.isLeft == true { leave(outer, into: &woken) }
  }

  /// Changes the rule, and lets those start who now may.
  mutating func changeRule(_ change: (inout Admission) -> Void) -> [Woken] {
    change(&mainRule)
    var woken: [Woken] = []
    admit(by: nil, into: &woken)
    return woken
  }

  /// The limiter's own rule, for an observer.
  var rule: Admission { mainRule }

  /// Whether nobody holds and nobody waits, and nothing is left of those who did.
  var isQuiet: Bool {
    holds.count == 0 && tickets.count == 0 && innerRules.count == 0 && mainRule.inFlight == 0
  }

  /// Whether a hold is still its owner's.
  private func isHeld(_ id: HoldID) -> Bool { holds[id].map { !$0.isLeft } ?? false }

  // MARK: The parts

  private mutating func enter(
    _ request: AdmissionRequest, by rule: RuleID, outer: HoldID?
  ) -> LimiterAnswer? {
    guard let grant = update(rule, { $0.enter(request) }) else { return nil }
    return .granted(holds.insert(LimiterHold(grant: grant, rule: rule, outer: outer)))
  }

  /// The rule a request falls under; nil if it is nested and may not be.
  private mutating func rule(
    for request: AdmissionRequest, inside holders: () -> [HoldID]
  ) -> (RuleID, HoldID?)? {
    guard holds.count > 0, let holder = holders().first(where: isHeld), let hold = holds[holder]
    else { return (nil, nil) }
    guard nesting == .shares, isHold(hold, of: request.key) else { return nil }
    if let inner = hold.inner { return (inner, holder) }
    let inner = innerRules.insert(Admission(limit: hold.grant.weight))
    holds.update(holder) { $0.inner = inner }
    return (inner, holder)
  }

  /// Whether a hold falls under the limit of a key, itself or the one that it is inside of.
  private func isHold(_ hold: LimiterHold, of key: AdmissionKey?) -> Bool {
    guard let outer = hold.outer.flatMap({ holds[$0] }) else {
      return mainRule.isGrant(hold.grant, of: key)
    }
    return isHold(outer, of: key)
  }

  private mutating func update<Result>(
    _ rule: RuleID, _ change: (inout Admission) -> Result
  ) -> Result {
    if let rule { return innerRules.update(rule, change) }
    return change(&mainRule)
  }

  private mutating func admit(by rule: RuleID, into woken: inout [Woken]) {
    while let (id, grant, _) = update(rule, { $0.admit() }) {
      let outer = tickets[id]?.outer
      let hold = holds.insert(LimiterHold(grant: grant, rule: rule, outer: outer))
      decide(id, .granted(hold), into: &woken)
    }
  }

  private mutating func decide(_ id: TicketID, _ turn: LimiterTurn, into woken: inout [Woken]) {
    if let waiter = tickets.decide(id, turn) { woken.append((waiter, turn)) }
  }
}
