// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import BatchwiseUI

@Suite("Which pictures are in memory", .timeLimit(.minutes(1)))
struct PictureShelfTests {
  @Test("Those that were asked for longest ago are dropped, and no more than it takes")
  func oldest() {
    var shelf = PictureShelf(capacity: 10)
    var dropped = [shelf.place(1, bytes: 4), shelf.place(2, bytes: 4), shelf.place(3, bytes: 2)]
    #expect(dropped.allSatisfy(\.isEmpty) && shelf.room == 0)
    shelf.touch(1)
    shelf.touch(7)
    dropped = [shelf.place(4, bytes: 3), shelf.place(5, bytes: 10)]
    #expect(dropped == [[2], [3, 1, 4]])
    #expect(shelf.used == 10)
  }

  @Test("Whatever is placed and asked for, it is what a list that is searched would hold")
  func random() {
    var random = SeededGenerator(seed: 3)
    for _ in 0..<50 {
      var shelf = PictureShelf(capacity: 100)
      var list: [(row: Int, bytes: Int)] = []
      for _ in 0..<500 {
        let row = Int.random(in: 0..<40, using: &random)
        let found = list.firstIndex { $0.row == row }
        if Bool.random(using: &random) {
          shelf.touch(row)
          if let found { list.append(list.remove(at: found)) }
        } else {
          let bytes = Int.random(in: 0...30, using: &random)
          if let found { list.remove(at: found) }
          var expected: [Int] = []
          while list.reduce(bytes, { $0 + $1.bytes }) > 100 {
            expected.append(list.removeFirst().row)
          }
          list.append((row, bytes))
          let dropped = shelf.place(row, bytes: bytes)
          #expect(dropped == expected)
        }
        #expect(shelf.used == list.reduce(0) { $0 + $1.bytes })
      }
    }
  }
}
