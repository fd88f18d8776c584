// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

@Suite("A block", .timeLimit(.minutes(1)))
struct BlockTests {
  private final class Element: Sendable {}

  @Test("hands out what is ready, in order, each element once")
  func claimsInOrder() {
    let block = Block<String, Never>(offset: 10, capacity: 3, outputs: nil)
    #expect(block.claim() == nil)
    block.append("a")
    block.append("b")
    #expect(block.unclaimed == 2)
    #expect(block.claim() == 0)
    #expect(block.claim() == 1)
    #expect(block.claim() == nil)
    block.append("c")
    #expect(block.isFull)
    #expect(block.claim() == 2)
    #expect((0..<3).map { block.take($0) } == ["a", "b", "c"])
  }

  @Test("shares an array without a copy")
  func sharesAnArray() {
    let block = Block<Int, Never>([7, 8, 9], outputs: nil)
    #expect(block.isFull)
    #expect((0..<5).map { _ in block.claim() } == [0, 1, 2, nil, nil])
    #expect(block.unclaimed == 0)
    #expect(block.take(1) == 8)
  }

  @Test("once closed hands out nothing, and says how much it kept", arguments: 0...4)
  func closes(claimed: Int) {
    let whole = Block<Int, Never>([1, 2, 3, 4], outputs: nil)
    let filled = Block<Int, Never>(offset: 0, capacity: 8, outputs: nil)
    for element in 1...4 { filled.append(element) }
    for block in [whole, filled] {
      for _ in 0..<claimed { _ = block.claim() }
      #expect(block.close() == 4 - claimed)
      #expect(block.isClosed)
      #expect(block.claim() == nil)
      #expect(block.unclaimed == 0)
    }
    filled.append(5)
    #expect(filled.claim() == nil)
  }

  @Test("gives every element to exactly one of several workers")
  func claimsAreExclusive() async {
    let count = 20_000
    for block in [
      Block<Int, Never>(Array(0..<count), outputs: nil),
      Block<Int, Never>(offset: 0, capacity: count, outputs: nil),
    ] {
      let claimed = await withTaskGroup(of: [Int].self) { group in
        for _ in 0..<4 {
          group.addTask {
            var mine: [Int] = []
            while mine.last != count - 1 {
              if let index = block.claim() {
                mine.append(block.take(index))
              } else if block.isFull {
                break
              } else {
                await Task.yield()
              }
            }
            return mine
          }
        }
        if !block.isFull { for element in 0..<count { block.append(element) } }
        return await group.reduce(into: []) { $0 += $1 }
      }
      #expect(claimed.sorted() == Array(0..<count))
    }
  }

  @Test("lets go of elements and outputs, used or not")
  func releasesItsContents() {
    weak var element: Element?
    weak var output: Element?
    do {
      let block = Block<Element, Element>(
        offset: 0, capacity: 4, outputs: OutputChunk(capacity: 4))
      let (first, second) = (Element(), Element())
      (element, output) = (first, second)
      block.append(first)
      block.store(second, at: 0)
    }
    #expect(element == nil)
    #expect(output == nil)
  }

  private final class Counted: Sendable {
    let alive: Watched<Int>

    init(_ alive: Watched<Int>) {
      self.alive = alive
      alive.update { $0 += 1 }
    }

    deinit { alive.update { $0 -= 1 } }
  }

  @Test("lets go of what was taken at once, and of the rest with itself", arguments: [true, false])
  func lettingGo(isClosed: Bool) {
    let alive = Watched(0)
    do {
      let block = Block<Counted, Never>(offset: 0, capacity: 4, outputs: nil)
      for _ in 0..<3 { block.append(Counted(alive)) }
      #expect(block.claim() == 0)
      _ = block.take(0)
      #expect(alive.value == 2)
      if isClosed {
        #expect(block.close() == 2)
        #expect(block.close() == 0)
        block.append(Counted(alive))
        #expect(alive.value == 3)
      }
    }
    #expect(alive.value == 0)
  }

  @Test("and its neighbours give their outputs back in order")
  func gathersOutputs() {
    let chunks = (0..<3).map { _ in OutputChunk<String>(capacity: 4) }
    for place in (0..<10).reversed() { chunks[place / 4].store("\(place)", at: place % 4) }
    #expect(OutputChunk.gather(chunks, count: 10) == (0..<10).map { "\($0)" })
    #expect(OutputChunk<Int>.gather([], count: 0) == [])
  }
}
