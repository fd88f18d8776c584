// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@Suite("The limit of every face that can change it", .timeLimit(.minutes(1)))
struct FaceLimitTests {
  @Test("starts nothing at zero, and at once when it is raised", arguments: Faces.adjustable)
  func closedGate(_ maker: Maker<any AdjustableFace>) async {
    let (face, log) = (maker.make(0), JobLog())
    for number in 0..<10 { face.add(Job(number, .held, log)) }
    #expect(face.status == FaceStatus(limit: 0, inFlight: 0, waiting: 10))
    face.setLimit(2)
    #expect(face.status == FaceStatus(limit: 2, inFlight: 2, waiting: 8))
    await log.wait { $0.started.count == 2 }
    // And it can be closed again: those in flight end, and nobody follows.
    face.setLimit(0)
    log.releaseAll()
    await settle(face, inFlight: 0)
    #expect(face.status == FaceStatus(limit: 0, inFlight: 0, waiting: 8))
    #expect(log.now.started.count == 2)
    for number in 0..<10 { log.release(number) }
    face.setLimit(10)
    await face.idle()
    #expect(log.now.ended == 10)
  }

  /// A limit that was counted from the one at the beginning stayed at 3 after 1, 3, 1.
  @Test("is the last one that was set, also if it is set twice", arguments: Faces.adjustable)
  func lastSet(_ maker: Maker<any AdjustableFace>) async {
    let (face, log) = (maker.make(2), JobLog())
    for number in 0..<100 { face.add(Job(number, .held, log)) }
    await log.wait { $0.started.count == 2 }
    for limit in [1, 3, 1, 1, 5, 5, 2] {
      face.setLimit(limit)
      #expect(face.status.limit == limit)
      // Those in flight have started, so that whoever is released is held; then they end.
      await log.wait { $0.inFlight >= limit }
      await oneRound(log, limit: limit)
      log.restartPeak()
      await oneRound(log, limit: limit)
      #expect(log.now.peak == limit, "limit \(limit)")
      #expect(face.status.inFlight == limit)
    }
    for number in 0..<100 { log.release(number) }
    await face.idle()
    #expect(log.now.ended == 100)
  }

  /// Lowered limits cancelled those in flight, or were not seen by those who waited already.
  @Test(
    "can be lowered, which interrupts nothing and holds back the rest", arguments: Faces.adjustable)
  func lowered(_ maker: Maker<any AdjustableFace>) async {
    let (face, log) = (maker.make(4), JobLog())
    for number in 0..<24 { face.add(Job(number, .held, log)) }
    await log.wait { $0.started.count == 4 }
    face.setLimit(1)
    #expect(face.status == FaceStatus(limit: 1, inFlight: 4, waiting: 20))
    #expect(log.now.ended == 0)
    for number in 0..<3 {
      log.release(number)
      await settle(face, inFlight: 3 - number)
      #expect(face.status == FaceStatus(limit: 1, inFlight: 3 - number, waiting: 20))
      #expect(log.now.started.count == 4)
    }
    for number in 3..<23 {
      log.release(number)
      await log.wait { $0.started.count == number + 2 }
      #expect(log.now.inFlight == 1)
    }
    log.release(23)
    await face.idle()
    #expect(log.now.ended == 24)
  }

  /// A limit that was set in the middle did not count those in flight.
  @Test("can be set where there was none, and counts those in flight", arguments: Faces.adjustable)
  func setLate(_ maker: Maker<any AdjustableFace>) async {
    let (face, log) = (maker.make(.max), JobLog())
    for number in 0..<6 { face.add(Job(number, .held, log)) }
    await log.wait { $0.started.count == 6 }
    face.setLimit(3)
    for number in 6..<9 { face.add(Job(number, .held, log)) }
    for number in 0..<3 {
      log.release(number)
      await settle(face, inFlight: 5 - number)
      #expect(face.status.waiting == 3)
    }
    #expect(log.now.started.count == 6)
    log.release(3)
    await log.wait { $0.started.count == 7 }
    for number in 4..<9 { log.release(number) }
    await face.idle()
    #expect(log.now.ended == 9)
  }

  /// A freed place that woke nobody was found later by polling, or never.
  @Test("leaves nobody waiting while there is room", arguments: Faces.adjustable)
  func nobodyWaitsForNothing(_ maker: Maker<any AdjustableFace>) async {
    for seed in 0..<8 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let (face, log) = (maker.make(2), JobLog())
      for number in 0..<300 {
        face.add(Job(number, [.instant, .slow].randomElement(using: &random) ?? .slow, log))
        if Int.random(in: 0..<10, using: &random) == 0 {
          face.setLimit(Int.random(in: 0...5, using: &random))
        }
        if Int.random(in: 0..<5, using: &random) == 0 { await Task.yield() }
        let status = face.status
        #expect(status.waiting == 0 || status.inFlight >= status.limit, "seed \(seed): \(status)")
      }
      face.setLimit(3)
      while log.now.ended < 300 {
        let status = face.status
        #expect(status.waiting == 0 || status.inFlight >= status.limit, "seed \(seed): \(status)")
        await Task.yield()
      }
      await face.idle()
      #expect(face.status == FaceStatus(limit: 3, inFlight: 0, waiting: 0))
    }
  }

  /// Lets all end that are in flight, and expects as many to follow as the limit says.
  private func oneRound(_ log: JobLog, limit: Int) async {
    let started = log.now.started.count
    log.releaseAll()
    await log.wait { $0.started.count == started + limit }
    #expect(log.now.inFlight == limit, "limit \(limit)")
  }

  /// Waits until so many have given their place back, which follows the end of their work.
  private func settle(_ face: any AdjustableFace, inFlight: Int) async {
    while face.status.inFlight > inFlight { await Task.yield() }
  }
}
