// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import BatchwiseDispatch

@Suite("A bounded Dispatch queue, step by step", .timeLimit(.minutes(2)))
struct SteppedDispatchTests {
  typealias Kind = SteppedDispatchWorld.Kind

  @Test("keeps every promise whatever is done to it at whichever step", arguments: 0..<8)
  func everything(part: UInt64) async {
    for seed in part * 500..<(part + 1) * 500 {
      let world = SteppedDispatchWorld(seed: seed, limit: Int(seed % 5))
      for _ in 0..<6 { world.add(Kind.allCases[world.stepper.random(in: 0..<7)]) }
      for _ in 0..<120 {
        world.live()
        check(world)
      }
      // Whoever holds it lets everything run.
      while world.now.suspensions > 0 { world.resume() }
      world.setLimit(3)
      world.finish()
      // What was done last may have suspended it again, or closed its gate.
      while world.status?.waiting != 0 || world.status?.inFlight != 0 {
        while world.now.suspensions > 0 { world.resume() }
        world.setLimit(3)
        world.finish()
      }
      checkEnd(world)
      await Task.yield()
    }
  }

  @Test("is over for every item once when it is dropped at whichever step", arguments: 0..<4)
  func dropped(part: UInt64) async {
    for seed in part * 500..<(part + 1) * 500 {
      let world = SteppedDispatchWorld(seed: seed, limit: Int(seed % 3))
      for _ in 0..<8 { world.add(Kind.allCases[world.stepper.random(in: 0..<7)]) }
      for _ in 0..<seed % 40 { world.live() }
      world.drop()
      world.finish()
      checkEnd(world)
      await Task.yield()
    }
  }

  @Test("has exactly its limit in flight, of items that are called back", arguments: 1...5)
  func peakOfCallbacks(limit: Int) async {
    for seed in 0..<200 as Range<UInt64> {
      let world = SteppedDispatchWorld(seed: seed, limit: limit, isLively: false)
      for number in 0..<20 {
        world.add(number % 4 == 3 ? Kind.allCases[world.stepper.random(in: 0..<7)] : .callsLater)
      }
      repeat { while world.stepper.step() { check(world) } } while world.endOneHeld()
      #expect(world.now.peak == limit, "seed \(seed)")
      checkEnd(world)
      await Task.yield()
    }
  }

  @Test("has exactly its limit in flight, of blocks", arguments: 1...5)
  func peakOfBlocks(limit: Int) {
    // Each block waits for the one that started after it, as far as there is one.
    for seed in 0..<200 as Range<UInt64> {
      let stepper = BlockStepper(seed: seed)
      let depth = Watched((now: 0, peak: 0, ended: 0))
      let queue = BoundedDispatchQueue(
        BoundedDispatchCore(
          label: "blocks", limit: limit, isShared: false, onMisuse: nil,
          submit: { stepper.submit($0) }))
      for _ in 0..<12 {
        queue.async {
          depth.update {
            $0.now += 1
            $0.peak = max($0.peak, $0.now)
          }
          stepper.step()
          depth.update {
            $0.now -= 1
            $0.ended += 1
          }
        }
      }
      while stepper.step() {}
      #expect(depth.value.peak == limit, "seed \(seed)")
      #expect(depth.value.ended == 12, "seed \(seed)")
      #expect(queue.status.inFlight == 0 && queue.status.waiting == 0, "seed \(seed)")
    }
  }

  /// What holds between two steps.
  private func check(_ world: SteppedDispatchWorld) {
    guard let status = world.status else { return }
    let tally = world.now
    // Each permit belongs to a block that has not run, or to an item that is not over.
    #expect(status.inFlight == world.stepper.count + tally.held.count, "seed \(world.seed)")
    #expect(tally.working == tally.held.count, "seed \(world.seed)")
    let isFull = status.inFlight >= status.limit
    #expect(status.waiting == 0 || status.isSuspended || isFull, "seed \(world.seed): \(status)")
    #expect(status.isSuspended == (tally.suspensions > 0), "seed \(world.seed)")
  }

  /// What holds in the end.
  private func checkEnd(_ world: SteppedDispatchWorld) {
    let tally = world.now
    #expect(tally.working == 0 && tally.held.isEmpty, "seed \(world.seed)")
    #expect(tally.ends.count == tally.kinds.count, "seed \(world.seed)")
    for (number, ends) in tally.ends {
      let kind = tally.kinds[number]
      let expected =
        switch kind {
        case .block, .callsInside, .callsTwice, .callsLater: "value"
        case .throwingBlock: "boom"
        case .letsGo, .letsGoLater: "neverCompleted"
        }
      let isRight = ends == [expected] || ends == ["dropped"]
      #expect(isRight, "seed \(world.seed), item \(number): \(kind) ended as \(ends)")
    }
    func ran(_ kinds: Set<Kind>) -> Int {
      tally.kinds.indices.count { kinds.contains(tally.kinds[$0]) && tally.ends[$0] != ["dropped"] }
    }
    #expect(tally.misuses.count { $0 == .completedTwice } == ran([.callsTwice]))
    #expect(tally.misuses.count { $0 == .neverCompleted } == ran([.letsGo, .letsGoLater]))
    #expect(tally.notified.allSatisfy { $0 == 1 }, "seed \(world.seed): \(tally.notified)")
  }
}
