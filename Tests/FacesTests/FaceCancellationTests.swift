// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@Suite("Cancellation, on every face", .timeLimit(.minutes(1)))
struct FaceCancellationTests {
  @Test("lets nothing start that waits, and interrupts nothing in flight", arguments: Faces.all)
  func cancelAll(_ maker: Maker<any Face>) async {
    let (face, log) = (maker.make(3), JobLog())
    for number in 0..<50 { face.add(Job(number, .held, log)) }
    await log.wait { $0.started.count == 3 }
    face.cancelAll()
    #expect(log.now.ended == 0)
    log.releaseAll()
    await face.idle()
    #expect(log.now.started.sorted() == [0, 1, 2])
    #expect(log.now.ended == 3)
  }

  @Test("gives every place back", arguments: Faces.adjustable, 0..<6)
  func placesComeBack(_ maker: Maker<any AdjustableFace>, turns: Int) async {
    let (face, log) = (maker.make(2), JobLog())
    for number in 0..<40 { face.add(Job(number, number % 2 == 0 ? .slow : .instant, log)) }
    for _ in 0..<turns { await Task.yield() }
    face.cancelAll()
    while face.status.inFlight > 0 { await Task.yield() }
    #expect(face.status == FaceStatus(limit: 2, inFlight: 0, waiting: 0))
    let before = log.now
    #expect(before.started.count == before.ended)
    log.restartPeak()
    for number in 100..<104 { face.add(Job(number, .held, log)) }
    await log.wait { $0.inFlight == 2 }
    log.releaseAll()
    await log.wait { $0.started.count == before.started.count + 4 }
    log.releaseAll()
    await face.idle()
    #expect(log.now.peak == 2)
    #expect(face.status == FaceStatus(limit: 2, inFlight: 0, waiting: 0))
  }

  @Test("of a caller before it came keeps its job from starting", arguments: Faces.ofTasks)
  func cancelledBefore(_ maker: Maker<any TaskFace>) async {
    let (face, log) = (maker.make(1), JobLog())
    // With room, and without.
    for isHeld in [false, true] {
      if isHeld {
        face.add(Job(1, .held, log))
        await log.wait { $0.started.last == 1 }
      }
      await #expect(throws: CancellationError.self) {
        try await face.addAsCancelled(Job(0, .instant, log))
      }
    }
    face.add(Job(2, .instant, log))
    log.releaseAll()
    await face.idle()
    #expect(log.now.started == [1, 2])
  }
}
