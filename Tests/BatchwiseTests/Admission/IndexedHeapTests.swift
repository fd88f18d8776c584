// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("IndexedHeap", .timeLimit(.minutes(1)))
struct IndexedHeapTests {
  typealias Heap = IndexedHeap<Int, String>

  @Test("The least rank comes first, and of equal ranks the one inserted first")
  func order() {
    var heap = Heap()
    for (value, rank) in [("c", 2), ("a", 1), ("d", 2), ("b", 1)] {
      _ = heap.insert(value, rank: rank)
    }
    var popped: [String] = []
    while let entry = heap.popFirst() { popped.append(entry.value) }
    #expect(popped == ["a", "b", "c", "d"])
  }

  @Test("An identifier that is out of date finds nothing, though its place is used again")
  func staleIdentifier() {
    var heap = Heap()
    let old = heap.insert("old", rank: 1)
    #expect(heap.remove(old) == "old")
    let new = heap.insert("new", rank: 1)
    #expect(heap.remove(old) == nil)
    #expect(heap[old] == nil)
    heap.setRank(5, of: old)
    #expect(heap.rank(of: new) == 1)
    #expect(heap[new] == "new")
  }

  @Test("An identifier from before the memory was given back finds nothing")
  func staleAfterShrinking() {
    var heap = Heap()
    let ids = (0..<1000).map { heap.insert("\($0)", rank: $0) }
    while heap.popFirst() != nil {}
    _ = heap.insert("new", rank: 0)
    #expect(ids.allSatisfy { heap[$0] == nil })
    #expect(heap.first?.value == "new")
  }

  @Test("A value that was taken out is let go of at once")
  func lifetime() {
    final class Object {}
    var heap = IndexedHeap<Int, Object>()
    weak var object: Object?
    do {
      let value = Object()
      object = value
      let id = heap.insert(value, rank: 1)
      _ = heap.insert(Object(), rank: 2)
      _ = heap.remove(id)
    }
    #expect(object == nil)
  }

  @Test("It does what a sorted array does, for a million random steps", arguments: 1...4)
  func againstSortedArray(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var heap = IndexedHeap<Int, Int>()
    var model: [(id: IndexedHeap<Int, Int>.ID, rank: Int, value: Int)] = []
    func sort() { model.sort { ($0.rank, $0.id.number) < ($1.rank, $1.id.number) } }
    for step in 0..<250_000 {
      switch Int.random(in: 0..<8, using: &random) {
      case 0...2 where model.count < 24:
        let rank = Int.random(in: 0..<6, using: &random)
        model.append((heap.insert(step, rank: rank), rank, step))
      case 3, 4:
        let entry = heap.popFirst()
        let expected = model.isEmpty ? nil : model.removeFirst()
        #expect(entry?.value == expected?.value)
      case 5 where !model.isEmpty:
        let (id, _, value) = model.remove(at: Int.random(in: model.indices, using: &random))
        #expect(heap.remove(id) == value)
      case 6 where !model.isEmpty:
        let index = Int.random(in: model.indices, using: &random)
        model[index].rank = Int.random(in: 0..<6, using: &random)
        heap.setRank(model[index].rank, of: model[index].id)
      case 7 where step % 64 == 0:
        func newRank(_ value: Int, _ rank: Int) -> Int { (value ^ rank) % 5 }
        heap.setRanks { newRank($0.value, $0.rank) }
        for index in model.indices {
          model[index].rank = newRank(model[index].value, model[index].rank)
        }
      default: break
      }
      sort()
      guard heap.count == model.count, heap.first?.value == model.first?.value else {
        Issue.record("seed \(seed), step \(step)")
        return
      }
    }
  }
}
