// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import SQLiteJournal

@Suite("The tail of a journal", .timeLimit(.minutes(1)))
struct TailTests {
  @Test("knows the latest record of each item, before, during and after a fold")
  func latest() {
    var tail = Tail(lastID: 0, mostRecords: 3)
    tail.add(key: 7, id: 1)
    tail.add(key: 8, id: 2)
    #expect(!tail.isLong)
    tail.add(key: 7, id: 3)
    #expect(tail.isLong)
    #expect(tail.id(of: 7) == 3)

    let fold = tail.beginFold()
    #expect(fold.upTo == 3)
    #expect(fold.void == [1])
    #expect(tail.id(of: 7) == 3)
    #expect(tail.isFolded(key: 7, id: 3) && !tail.isFolded(key: 7, id: 1))
    tail.add(key: 7, id: 4)
    #expect(tail.id(of: 7) == 4)
    #expect(tail.id(of: 8) == 2)
    tail.endFold()
    #expect(tail.id(of: 7) == 4)
    #expect(tail.id(of: 8) == nil)
    #expect(tail.lastID == 4)
  }

  @Test("begins no fold while one is under way, and one at once after it if there is need")
  func oneAtATime() {
    var tail = Tail(lastID: 9, mostRecords: 1)
    tail.add(key: 1, id: 10)
    _ = tail.beginFold()
    tail.add(key: 2, id: 11)
    #expect(!tail.isLong)
    tail.endFold()
    #expect(tail.isLong)
    // What the fold under way enters is for the next one to make void.
    #expect(tail.beginFold().void == [])
  }
}
