// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import Batchwise

/// Feeder, owner and workers played by hand, one access to shared memory at a time.
///
/// The stepping executor cannot stop a task between appending an element and looking at the hint;
/// here a seed decides even that. It has found two lost wake-ups: a worker that claimed the last
/// element of a block did not look at the block behind it, and the owner was not woken when a worker
/// was. Both left elements waiting while the source was silent.
@Suite("The handshake between feeder and workers", .timeLimit(.minutes(2)))
struct FeedHandshakeTests {
  @Test("hands every element to one worker", arguments: 0..<8 as Range<UInt64>)
  func everyElementOnce(round: UInt64) throws {
    for seed in round * 1_000..<(round + 1) * 1_000 {
      var world = FeedWorld(seed: seed, isSilent: false)
      let hasEnded = world.runToEnd()
      try #require(hasEnded, "stuck with seed \(seed): \(world)")
      #expect(world.claimed.sorted() == Array(0..<world.count), "seed \(seed)")
      #expect(world.workers.count <= min(world.limits.inFlight, world.count), "seed \(seed)")
    }
  }

  @Test("starts what can start while the source is silent", arguments: 0..<8 as Range<UInt64>)
  func startsAtOnce(round: UInt64) {
    for seed in round * 1_000..<(round + 1) * 1_000 {
      var world = FeedWorld(seed: seed, isSilent: true)
      _ = world.runToEnd()
      #expect(world.inFlight == world.mostInFlight, "seed \(seed): \(world)")
    }
  }
}

/// Feeder, owner and workers as values; each step is one access to what they share.
private struct FeedWorld {
  private enum Feeder {
    case asks, appends(Int), looks(Int), hires(Int), parked, ended
  }

  private enum Owner {
    case asks, parked, ended
  }

  enum Worker {
    case arrives(wasParked: Bool), asks, claims, parked, ended
    case looksForRoom(Int), looksForHands(Int), looksForMore(Int)
    case inBody(Int), releases
  }

  private enum Waiter {
    case feeder, owner, worker(Int)
  }

  let count: Int
  let limits: FeedLimits
  private(set) var workers: [Worker] = []
  private(set) var claimed: [Int] = []

  /// Whether the source falls silent behind its elements, and from which on bodies never end.
  private let isSilent: Bool
  private let firstEndless: Int
  private let hasOwner: Bool
  private var generator: SeededGenerator
  private var state: FeedState<Waiter>
  private var hints: FeedState<Waiter>.Hints
  private var feeder = Feeder.asks
  private var owner: Owner
  private var lastBlock: BlockNumbers
  private var blocks: [Int: BlockNumbers] = [:]
  private var released = 0

  init(seed: UInt64, isSilent: Bool) {
    var generator = SeededGenerator(seed: seed)
    count = Int.random(in: 0...9, using: &generator)
    let limit = Int.random(in: 1...5, using: &generator)
    let window = Int.random(in: 0...3, using: &generator) + limit
    limits = FeedLimits(
      inFlight: limit, backlog: 1...Int.random(in: 1...4, using: &generator),
      window: Bool.random(using: &generator) ? window : .max,
      blockSize: 1...Int.random(in: 1...3, using: &generator))
    hasOwner = Bool.random(using: &generator)
    owner = hasOwner ? .asks : .ended
    state = FeedState(limits)
    hints = state.hints
    lastBlock = BlockNumbers(offset: 0, capacity: limits.blockSize.lowerBound)
    _ = state.add(lastBlock)
    self.isSilent = isSilent
    firstEndless = isSilent ? Int.random(in: 0...count, using: &generator) : count
    self.generator = generator
  }

  /// How many bodies have started and not ended.
  var inFlight: Int {
    workers.count { if case .inBody = $0 { true } else { false } }
  }

  /// How many could be in flight when the source is silent.
  var mostInFlight: Int { min(limits.inFlight, count - firstEndless) }

  /// Takes steps until nobody can; true if everybody has ended.
  mutating func runToEnd() -> Bool {
    while true {
      var actors = workers.indices.filter { canStep(workers[$0]) }
      if canStepFeeder { actors.append(-1) }
      if case .asks = owner { actors.append(-2) }
      guard let actor = actors.randomElement(using: &generator) else { break }
      switch actor {
      case -1: stepFeeder()
      case -2: stepOwner()
      default: stepWorker(actor)
      }
      hints = state.hints
    }
    if case .ended = feeder, case .ended = owner {
      return workers.allSatisfy { if case .ended = $0 { true } else { false } }
    }
    return false
  }

  private var canStepFeeder: Bool {
    switch feeder {
    case .parked, .ended: false
    default: true
    }
  }

  private func canStep(_ worker: Worker) -> Bool {
    switch worker {
    case .parked, .ended: false
    case .inBody(let offset): offset < firstEndless
    default: true
    }
  }

  private mutating func stepFeeder() {
    switch feeder {
    case .asks:
      switch state.askRoom(released: released) {
      case .proceed(let room): feeder = .appends(room)
      case .over: feeder = .ended
      case .wait: feeder = state.park(feeder: .feeder, released: released) ? .parked : .asks
      }
    case .appends(0): feeder = .asks
    case .appends(let room):
      guard lastBlock.offset + lastBlock.count < count else {
        if !isSilent { wake(state.finish()) }
        feeder = .ended
        return
      }
      if lastBlock.count == lastBlock.capacity {
        lastBlock = BlockNumbers(
          offset: lastBlock.offset + lastBlock.capacity,
          capacity: min(lastBlock.capacity * 2, limits.blockSize.upperBound))
        _ = state.add(lastBlock)
      }
      lastBlock.addReady()
      feeder = .looks(room - 1)
    case .looks(let room):
      if hints.canWake || hints.canHire { wake(state.summon()) }
      feeder = hasOwner ? .appends(room) : .hires(room)
    case .hires(let room):
      if hints.canHire, case .proceed = state.hire() {
        workers.append(.arrives(wasParked: false))
      } else {
        feeder = .appends(room)
      }
    case .parked, .ended: break
    }
  }

  private mutating func stepOwner() {
    switch state.hire() {
    case .proceed: workers.append(.arrives(wasParked: false))
    case .over: owner = .ended
    case .wait: if state.park(owner: .owner) { owner = .parked }
    }
  }

  private mutating func stepWorker(_ worker: Int) {
    switch workers[worker] {
    case .arrives(let wasParked):
      state.arrive(wasParked: wasParked)
      workers[worker] = .asks
    case .asks:
      switch state.work {
      case .proceed(let block):
        blocks[worker] = block
        workers[worker] = .claims
      case .over: workers[worker] = .ended
      case .wait: if state.park(worker: .worker(worker)) { workers[worker] = .parked }
      }
    case .claims:
      guard let block = blocks[worker], let index = block.claim() else {
        workers[worker] = .asks
        return
      }
      claimed.append(block.offset + index)
      if index == block.capacity - 1 { _ = state.dropBlock() }
      workers[worker] = .looksForRoom(block.offset + index)
    case .looksForRoom(let offset):
      if offset >= hints.roomOffset { wake(state.noteClaim().map { [$0] } ?? []) }
      workers[worker] = .looksForHands(offset)
    case .looksForHands(let offset):
      workers[worker] = hints.canWake ? .looksForMore(offset) : .inBody(offset)
    case .looksForMore(let offset):
      // A block of which the last element was claimed says nothing of the blocks behind it.
      if let block = blocks[worker],
        block.unclaimed > 0 || offset == block.offset + block.capacity - 1
      {
        wake(state.summon())
      }
      workers[worker] = .inBody(offset)
    case .inBody:
      // The reader takes the outcome at once.
      released += 1
      workers[worker] = .releases
    case .releases:
      if hints.awaitsRelease { wake(state.release(released: released).map { [$0] } ?? []) }
      workers[worker] = .claims
    case .parked, .ended: break
    }
  }

  private mutating func wake(_ waiters: [Waiter]) {
    for waiter in waiters {
      switch waiter {
      case .feeder: feeder = .asks
      case .owner: owner = .asks
      case .worker(let worker): workers[worker] = .arrives(wasParked: true)
      }
    }
  }
}
