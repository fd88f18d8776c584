// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("The state of streamed results", .timeLimit(.minutes(1)))
struct ConcurrentResultsStateTests {
  private typealias State = ConcurrentResultsState<Int, Boom, String>

  /// What the reader is told, in a form that can be compared.
  private func next(_ state: inout State) -> String {
    var values: [Int] = []
    return switch state.next(handingOverInto: &values) {
    case .values: values.map { "\($0)" }.joined(separator: " ")
    case .wait: "wait"
    case .failed(let failure): "failed \(failure.offset)"
    case .over: "over"
    }
  }

  @Test("wakes the reader in source order only for the outcome that is next")
  func sourceOrder() {
    var state = State(order: .source)
    #expect(next(&state) == "wait")
    #expect(state.park(reader: "reader") == true)
    #expect(state.insert(1, at: 1) == nil)
    #expect(state.insert(0, at: 0) == "reader")
    #expect((0..<2).map { _ in next(&state) } == ["0 1", "wait"])
  }

  @Test("wakes the reader in completion order for every outcome")
  func completionOrder() {
    var state = State(order: .completion)
    #expect(state.park(reader: "reader") == true)
    #expect(state.insert(1, at: 1) == "reader")
    #expect(state.insert(0, at: 0) == nil)
    #expect((0..<2).map { _ in next(&state) } == ["1 0", "wait"])
  }

  @Test("hands outcomes over in exchange for the room of those that were read")
  func exchangesLists() {
    var state = State(order: .completion)
    for number in 0..<100 { _ = state.insert(number, at: number) }
    var values: [Int] = []
    guard case .values = state.next(handingOverInto: &values) else {
      Issue.record("there are outcomes")
      return
    }
    let isWhole = values == Array(0..<100)
    #expect(isWhole)
    let room = values.capacity
    values.removeAll(keepingCapacity: true)
    _ = state.insert(100, at: 100)
    _ = state.next(handingOverInto: &values)
    #expect(values == [100])
    _ = state.insert(101, at: 101)
    _ = state.next(handingOverInto: &values)
    #expect(values.capacity >= room)
  }

  @Test("lets no reader park for whom there is an answer")
  func looksAgain() {
    var state = State(order: .source)
    _ = state.insert(0, at: 0)
    #expect(state.park(reader: "reader") == false)
    _ = next(&state)
    #expect(state.finish() == nil)
    #expect(state.park(reader: "reader") == false)
  }

  @Test("reports the source's failure once, behind all outcomes")
  func sourceFailure() {
    var state = State(order: .source)
    state.failSource(Boom(offset: 2))
    #expect(next(&state) == "wait")
    #expect(state.park(reader: "reader") == true)
    #expect(state.insert(0, at: 0) == "reader")
    #expect(state.finish() == nil)
    #expect((0..<4).map { _ in next(&state) } == ["0", "failed 2", "over", "over"])
  }

  @Test("forgets everything when cancelled, also what comes later")
  func cancelled() {
    for order in [ConcurrentResultsOrder.source, .completion] {
      var state = State(order: order)
      _ = state.insert(0, at: 0)
      state.failSource(Boom(offset: 2))
      #expect(state.cancel().reader == nil)
      #expect(state.insert(1, at: 1) == nil)
      #expect(state.finish() == nil)
      #expect(next(&state) == "over")

      var parked = State(order: order)
      #expect(parked.park(reader: "reader") == true)
      #expect(parked.cancel().reader == "reader")
    }
  }

  @Test("agrees with a list, for any order of events", arguments: 0..<500 as Range<UInt64>)
  func agreesWithAList(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let count = Int.random(in: 0...12, using: &generator)
    let isOrdered = Bool.random(using: &generator)
    var state = State(order: isOrdered ? .source : .completion)
    var arrivals = Array(0..<count).shuffled(using: &generator)
    let expected = isOrdered ? Array(0..<count) : arrivals.reversed()
    var read: [Int] = []
    var isParked = false
    var isOver = false
    while !isOver {
      if !isParked, Bool.random(using: &generator) {
        var values: [Int] = []
        switch state.next(handingOverInto: &values) {
        case .values: read += values
        case .wait: isParked = state.park(reader: "reader")
        case .over: isOver = true
        case .failed: Issue.record("nothing failed, seed \(seed)")
        }
      } else if let offset = arrivals.popLast() {
        if state.insert(offset, at: offset) != nil { isParked = false }
      } else if state.finish() != nil {
        isParked = false
      }
    }
    #expect(read == expected, "seed \(seed)")
  }
}
