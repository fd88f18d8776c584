// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("A reorder buffer", .timeLimit(.minutes(1)))
struct ReorderBufferTests {
  @Test("gives values back in order, for every order of arrival of up to six", arguments: 0...6)
  func everyPermutation(count: Int) {
    var permutation = Array(0..<count)
    repeat {
      var buffer = ReorderBuffer<String>()
      var popped: [String] = []
      for (arrived, offset) in permutation.enumerated() {
        buffer.insert("\(offset)", at: offset)
        while let value = buffer.popNext() { popped.append(value) }
        // What can be popped is exactly the run without a gap.
        let gap = (0..<count).first { !permutation.prefix(arrived + 1).contains($0) } ?? count
        #expect(popped.count == gap)
        #expect(buffer.count == arrived + 1 - gap)
      }
      #expect(popped == (0..<count).map { "\($0)" })
    } while permutation.advanceToNextPermutation()
  }

  @Test("grows with what is far ahead, and keeps it", arguments: 0..<100 as Range<UInt64>)
  func farAhead(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let window = Int.random(in: 1...200, using: &generator)
    var buffer = ReorderBuffer<Int>()
    var waiting = Set(0..<window)
    var popped: [Int] = []
    var given = window
    while popped.count < 2_000 {
      guard let offset = waiting.randomElement(using: &generator) else { break }
      waiting.remove(offset)
      if offset == popped.count, Bool.random(using: &generator) {
        // What is next need not be kept at all.
        buffer.skip()
        popped.append(offset)
      } else {
        buffer.insert(offset, at: offset)
      }
      while let value = buffer.popNext() { popped.append(value) }
      while given < popped.count + window {
        waiting.insert(given)
        given += 1
      }
    }
    let isInOrder = popped == Array(0..<popped.count)
    #expect(isInOrder && popped.count >= 2_000, "seed \(seed)")
  }
}

extension [Int] {
  /// Steps to the permutation that is next in dictionary order; false behind the last.
  fileprivate mutating func advanceToNextPermutation() -> Bool {
    guard let pivot = indices.dropLast().last(where: { self[$0] < self[$0 + 1] }),
      let swap = indices.last(where: { self[$0] > self[pivot] })
    else { return false }
    swapAt(pivot, swap)
    self[(pivot + 1)...].reverse()
    return true
  }
}
