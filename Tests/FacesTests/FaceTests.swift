// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@Suite("Every face of the rule of who may start", .timeLimit(.minutes(1)))
struct FaceTests {
  @Test("starts jobs in the order in which they were handed over", arguments: Faces.all)
  func order(_ maker: Maker<any Face>) async {
    let (face, log) = (maker.make(1), JobLog())
    for number in 0..<200 { face.add(Job(number, number % 3 == 1 ? .slow : .instant, log)) }
    await face.idle()
    #expect(log.now.started == Array(0..<200))
    #expect(log.now.peak == 1)
  }

  @Test("has exactly its limit in flight", arguments: Faces.all, [1, 2, 4])
  func peak(_ maker: Maker<any Face>, limit: Int) async {
    let (face, log) = (maker.make(limit), JobLog())
    for number in 0..<24 { face.add(Job(number, .held, log)) }
    for round in 1...24 / limit {
      await log.wait { $0.started.count == round * limit }
      #expect(log.now.inFlight == limit)
      log.releaseAll()
    }
    await face.idle()
    #expect(log.now.peak == limit)
    #expect(log.now.ended == 24)
  }

  @Test("starts the next in order whenever one ends", arguments: Faces.all)
  func oneByOne(_ maker: Maker<any Face>) async {
    let (face, log) = (maker.make(3), JobLog())
    for number in 0..<12 { face.add(Job(number, .held, log)) }
    await log.wait { $0.started.count == 3 }
    for number in 0..<9 {
      log.release(number)
      await log.wait { $0.started.count == number + 4 }
      #expect(log.now.started.last == number + 3)
      #expect(log.now.inFlight == 3)
    }
    log.releaseAll()
    await face.idle()
    #expect(log.now.peak == 3)
  }

  /// Sources that ended at once made the operators of others hang, or run deeper with each.
  @Test(
    "ends every job once, whether it is instant or slow, at every limit", arguments: Faces.all,
    1...7)
  func everyTiming(_ maker: Maker<any Face>, limit: Int) async {
    for seed in 0..<4 as Range<UInt64> {
      var random = SeededGenerator(seed: seed &* 8 &+ UInt64(limit))
      let (face, log) = (maker.make(limit), JobLog())
      for number in 0..<60 {
        let isAlternating = seed == 0
        let isInstant = isAlternating ? number.isMultiple(of: 2) : .random(using: &random)
        face.add(Job(number, isInstant ? .instant : .slow, log))
        if seed > 1, Int.random(in: 0..<4, using: &random) == 0 { await Task.yield() }
      }
      await face.idle()
      let end = log.now
      #expect(end.started.sorted() == Array(0..<60), "seed \(seed)")
      #expect(end.ended == 60, "seed \(seed)")
      #expect(end.peak <= limit, "seed \(seed)")
    }
  }

  @Test("needs no more stack for many jobs that end at once than for one", arguments: Faces.all)
  func noRecursion(_ maker: Maker<any Face>) async {
    let (face, log) = (maker.make(1), JobLog())
    face.add(Job(0, .held, log))
    await log.wait { $0.started.count == 1 }
    for number in 1...10_000 { face.add(Job(number, .instant, log)) }
    log.release(0)
    await face.idle()
    #expect(log.now.ended == 10_001)
    #expect(log.now.peak == 1)
  }

  #if os(Linux)
    @Test("has no thread for a job that waits", arguments: Faces.all)
    func threads(_ maker: Maker<any Face>) async {
      let (face, log) = (maker.make(2), JobLog())
      for number in 0..<1000 { face.add(Job(number, number < 2 ? .held : .instant, log)) }
      await log.wait { $0.started.count == 2 }
      // Other tests have threads too, but not hundreds.
      #expect(threadCount() < 60)
      log.releaseAll()
      await face.idle()
      #expect(log.now.ended == 1000)
    }
  #endif
}

#if os(Linux)
  import Glibc

  /// How many threads this process has.
  private func threadCount() -> Int {
    guard let folder = opendir("/proc/self/task") else { return 0 }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    return count - 2
  }
#endif
