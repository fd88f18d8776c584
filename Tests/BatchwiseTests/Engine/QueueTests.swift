// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("A queue", .timeLimit(.minutes(1)))
struct QueueTests {
  @Test("gives back what it was given, in order", arguments: 0..<50 as Range<UInt64>)
  func agreesWithAnArray(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var queue = Queue<Int>()
    var model: [Int] = []
    for number in 0..<2_000 {
      // The bias moves, so that the queue grows and empties again and again.
      let isGrowing = (number / 200).isMultiple(of: 2)
      if Int.random(in: 0..<10, using: &generator) < (isGrowing ? 7 : 3) {
        queue.append(number)
        model.append(number)
      } else {
        #expect(queue.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
      }
      #expect(queue.isEmpty == model.isEmpty)
    }
  }

  @Test("lets go of what was popped")
  func releasesElements() {
    final class Element {}
    var queue = Queue<Element>()
    weak var first: Element?
    do {
      let element = Element()
      first = element
      queue.append(element)
      queue.append(Element())
    }
    queue.popFirst()
    #expect(first == nil)
  }
}
