// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import SQLiteJournal

@Suite("A filter of keys", .timeLimit(.minutes(1)))
struct KeyFilterTests {
  @Test("never denies a key that was added, and seldom takes another for one", arguments: [1, 2])
  func oneSided(stride: Int64) {
    var generator = SeededGenerator(seed: 5)
    var filter = KeyFilter()
    #expect(!filter.mayContain(0))
    // Digests, and numbers as they come in tests.
    let keys = (0..<200_000).map {
      stride == 1 ? Int64.random(in: 0 ... .max, using: &generator) : $0
    }
    for key in keys[..<100_000] { filter.add(key) }
    let denied = keys[..<100_000].count { !filter.mayContain($0) }
    let mistaken = keys[100_000...].count { filter.mayContain($0) }
    #expect(denied == 0)
    #expect(mistaken < 1_000)
  }
}
