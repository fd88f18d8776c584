// SPDX-License-Identifier: Apache-2.0

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
