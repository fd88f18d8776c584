// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

/// The state of a limiter and a naive model of it, told the same events and compared after each.
///
/// Whoever is granted a hold may ask again from inside it, before and after the hold was left; so a
/// chain of holds goes along with every hold, the innermost first.
struct LimiterPair {
  typealias State = LimiterState<Int>

  enum Event: Hashable {
    /// From inside the chain of a hold; zero is outside of all.
    case enter(weight: Int, inside: Int)
    case ask(weight: Int, priority: Int, inside: Int)
    case suspend(Int)
    case cancel(Int)
    case raise(Int, to: Int)
    case leave(Int)
    case setLimit(Int)
  }

  private struct Hold {
    let id: Int
    let weight: Int
    let outer: Int?
    /// Itself and what it is inside of.
    let chain: [Int]
    var isLeft = false
  }

  private struct Ticket {
    enum Phase: Equatable { case new, suspended, granted(Int), cancelled }
    let id: Int
    let weight: Int
    var priority: Int
    let outer: Int?
    let chain: [Int]
    var phase = Phase.new

    var isWaiting: Bool { phase == .new || phase == .suspended }
  }

  private(set) var state: State
  private let nesting: PermitNesting
  private var limit: Int
  private var holds: [Hold] = []
  private var tickets: [Ticket] = []
  private var lastID = 0
  /// The chains from inside which somebody may ask; they outlive their holds.
  private(set) var chains: [[Int]] = [[]]
  private var holdIDs: [Int: SlabID] = [:]
  private var ticketIDs: [Int: SlabID] = [:]
  /// Both phases that met in an event, for a test to see that all have.
  private(set) var met: Set<String> = []

  init(limit: Int, nesting: PermitNesting) {
    state = State(AdmissionState(limit: limit), nesting: nesting)
    self.limit = limit
    self.nesting = nesting
  }

  var ticketCount: Int { tickets.count }
  var ownedHolds: [Int] { holds.filter { !$0.isLeft }.map(\.id) }

  // MARK: The model

  private func permits(inside outer: Int?) -> Int {
    holds.filter { $0.outer == outer }.reduce(0) { $0 + $1.weight }
  }

  private func limit(inside outer: Int?) -> Int {
    guard let outer else { return limit }
    return holds.first { $0.id == outer }?.weight ?? 0
  }

  private func weight(_ weight: Int, inside outer: Int?) -> Int {
    max(1, min(weight, limit(inside: outer)))
  }

  private func hasRoom(_ weight: Int, inside outer: Int?) -> Bool {
    permits(inside: outer) + self.weight(weight, inside: outer) <= limit(inside: outer)
  }

  private mutating func newHold(_ weight: Int, outer: Int?, chain: [Int]) -> Int {
    lastID += 1
    let weight = self.weight(weight, inside: outer)
    holds.append(Hold(id: lastID, weight: weight, outer: outer, chain: [lastID] + chain))
    return lastID
  }

  /// Somebody was told of a hold, and may ask from inside it from now on.
  private mutating func told(_ hold: Int, _ id: SlabID) {
    holdIDs[hold] = id
    if let chain = holds.first(where: { $0.id == hold })?.chain { chains.append(chain) }
  }

  /// Lets all start who may, in order of priority and coming; the waiters that are woken.
  private mutating func admit(inside outer: Int?) -> [Int: Int] {
    var woken: [Int: Int] = [:]
    while let index = tickets.indices.filter({ tickets[$0].isWaiting && tickets[$0].outer == outer }
    )
    .min(by: { (-tickets[$0].priority, tickets[$0].id) < (-tickets[$1].priority, tickets[$1].id) }),
      hasRoom(tickets[index].weight, inside: outer)
    {
      let ticket = tickets[index]
      let hold = newHold(ticket.weight, outer: outer, chain: ticket.chain)
      tickets[index].phase = .granted(hold)
      if ticket.phase == .suspended {
        woken[ticket.id] = hold
        tickets.remove(at: index)
      }
    }
    return woken
  }

  // MARK: Events

  /// Tells both; nil, or what they disagree about.
  mutating func take(_ event: Event) -> String? {
    switch event {
    case .enter(let weight, let index): ask(weight, nil, inside: index)
    case .ask(let weight, let priority, let index): ask(weight, priority, inside: index)
    case .suspend(let index): suspend(index)
    case .cancel(let index): cancel(index)
    case .raise(let index, let priority): raise(index, priority)
    case .leave(let index): leave(index)
    case .setLimit(let limit): setLimit(limit)
    }
  }

  private mutating func ask(_ weight: Int, _ priority: Int?, inside index: Int) -> String? {
    guard chains.indices.contains(index) else { return nil }
    let chain = chains[index]
    let request = AdmissionRequest(weight: weight)
    let holders = chain.compactMap { holdIDs[$0] }
    let outer = chain.first { id in holds.contains { $0.id == id && !$0.isLeft } }
    let answer: LimiterAnswer?
    var woken: [State.Woken] = []
    if let priority {
      let raw = TaskPriority(rawValue: UInt8(priority))
      (answer, woken) = state.enterOrWait(request, inside: { holders }) { raw }
    } else {
      answer = state.enter(request, inside: { holders })
    }
    if outer != nil, nesting == .fails {
      guard case .isNested? = answer else { return "nested: \(String(describing: answer))" }
      return compare(woken, [:])
    }
    let isFree =
      !tickets.contains { $0.outer == outer && $0.isWaiting } && hasRoom(weight, inside: outer)
    if isFree {
      guard case .granted(let id)? = answer else { return "not granted" }
      told(newHold(weight, outer: outer, chain: chain), id)
      return compare(woken, [:])
    }
    guard let priority else { return answer == nil ? compare(woken, [:]) : "overtook" }
    guard case .waits(let id)? = answer else { return "does not wait" }
    lastID += 1
    ticketIDs[lastID] = id
    tickets.append(
      Ticket(id: lastID, weight: weight, priority: priority, outer: outer, chain: chain))
    return compare(woken, admit(inside: outer))
  }

  private mutating func suspend(_ index: Int) -> String? {
    guard tickets.indices.contains(index), tickets[index].phase != .suspended,
      let id = ticketIDs[tickets[index].id]
    else { return nil }
    let turn = state.suspend(id, tickets[index].id)
    met.insert("\(name(of: tickets[index].phase)) is suspended")
    switch (tickets[index].phase, turn) {
    case (.new, nil): tickets[index].phase = .suspended
    case (.granted(let hold), .granted(let id)?):
      told(hold, id)
      tickets.remove(at: index)
    case (.cancelled, .cancelled?): tickets.remove(at: index)
    default: return "suspended: \(String(describing: turn))"
    }
    return compare([], [:])
  }

  private mutating func cancel(_ index: Int) -> String? {
    guard tickets.indices.contains(index), let id = ticketIDs[tickets[index].id] else { return nil }
    let ticket = tickets[index]
    var woken = state.cancel(id)
    met.insert("\(name(of: ticket.phase)) is cancelled")
    guard ticket.isWaiting else { return compare(woken, [:]) }
    tickets[index].phase = .cancelled
    if ticket.phase == .suspended {
      guard let index = woken.firstIndex(where: { $0.waiter == ticket.id }),
        woken.remove(at: index).turn == .cancelled
      else { return "not woken by its cancellation" }
      tickets.removeAll { $0.id == ticket.id }
    }
    return compare(woken, admit(inside: ticket.outer))
  }

  private mutating func raise(_ index: Int, _ priority: Int) -> String? {
    guard tickets.indices.contains(index), let id = ticketIDs[tickets[index].id] else { return nil }
    let woken = state.raise(id, to: priority)
    met.insert("\(name(of: tickets[index].phase)) is raised")
    tickets[index].priority = max(priority, tickets[index].priority)
    return compare(woken, admit(inside: tickets[index].outer))
  }

  private mutating func leave(_ index: Int) -> String? {
    let owned = ownedHolds
    guard owned.indices.contains(index), let id = holdIDs[owned[index]] else { return nil }
    let woken = state.leave(id)
    var expected: [Int: Int] = [:]
    for place in holds.indices where holds[place].id == owned[index] { holds[place].isLeft = true }
    // Those that are left and have nobody inside go, and may let go of those outside of them.
    while let gone = holds.firstIndex(where: { hold in
      hold.isLeft && !holds.contains { $0.outer == hold.id }
    }) {
      let hold = holds.remove(at: gone)
      expected.merge(admit(inside: hold.outer)) { one, _ in one }
    }
    return compare(woken, expected)
  }

  private mutating func setLimit(_ limit: Int) -> String? {
    self.limit = limit
    return compare(state.changeRule { $0.setLimit(limit) }, admit(inside: nil))
  }

  private func name(of phase: Ticket.Phase) -> String {
    switch phase {
    case .new: "new"
    case .suspended: "suspended"
    case .granted: "granted"
    case .cancelled: "cancelled"
    }
  }

  // MARK: What must be true

  private mutating func compare(_ woken: [State.Woken], _ expected: [Int: Int]) -> String? {
    guard woken.count == expected.count else { return "woke \(woken.map(\.waiter))" }
    for (waiter, turn) in woken {
      guard let hold = expected[waiter], case .granted(let id) = turn else {
        return "woke \(waiter) with \(turn)"
      }
      told(hold, id)
    }
    let waiting = tickets.count { $0.outer == nil && $0.isWaiting }
    guard state.rule.inFlight == permits(inside: nil) else {
      return "permits: \(state.rule.inFlight)"
    }
    guard state.rule.waiting == waiting else { return "waiting: \(state.rule.waiting)" }
    return nil
  }

  /// Lets everybody be told and leave; nil, or why it does not come to rest.
  mutating func drain() -> String? {
    if let difference = take(.setLimit(2)) { return difference }
    while true {
      if let index = tickets.indices.first(where: { tickets[$0].phase != .suspended }) {
        if let difference = take(.suspend(index)) { return difference }
      } else if !ownedHolds.isEmpty {
        if let difference = take(.leave(0)) { return difference }
      } else {
        break
      }
    }
    guard tickets.isEmpty, holds.isEmpty else { return "somebody waits for ever" }
    guard state.isQuiet else { return "something is left" }
    return nil
  }

  /// What happens next.
  func randomEvent(using random: inout SeededGenerator) -> Event {
    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    // Mostly from inside a chain that is young, at most three deep.
    func chain() -> Int {
      let index = chains.count - 1 - number(0...min(6, chains.count - 1))
      return number(0...3) == 0 || chains[index].count > 3 ? 0 : index
    }
    func ticket() -> Int { number(0...max(0, tickets.count - 1)) }
    let weight = [1, 1, 2, 5][number(0...3)]
    switch number(0...15) {
    case 0...3 where tickets.count < 8:
      return .ask(weight: weight, priority: number(0...2), inside: chain())
    case 4: return .enter(weight: weight, inside: chain())
    case 5...8: return .suspend(ticket())
    case 9, 10: return .cancel(ticket())
    case 11: return .raise(ticket(), to: number(0...2))
    case 12: return .setLimit(number(0...4))
    default: return .leave(number(0...max(0, ownedHolds.count - 1)))
    }
  }
}
