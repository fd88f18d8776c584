// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Synchronization

@testable import BatchwiseDispatch

/// A bounded queue with every kind of item, and everything that can be done to it, step by step.
final class SteppedDispatchWorld: Sendable {
  enum Kind: CaseIterable {
    /// Is over when it returns.
    case block, throwingBlock
    /// Calls back before it returns, once or twice.
    case callsInside, callsTwice
    /// Is called back from outside, later.
    case callsLater
    /// Lets go of its completion, before it returns or later.
    case letsGo, letsGoLater
  }

  typealias Completion = BoundedDispatchQueue.Completion<Int>

  struct Tally {
    /// How often each item was told to be over, and how it ended.
    var ends: [Int: [String]] = [:]
    var kinds: [Kind] = []
    /// Completions that wait for a call from outside, or for being let go of.
    var held: [(completion: Completion, number: Int, isCalled: Bool)] = []
    /// Items that are at work at this moment, held ones among them.
    var working = 0
    var peak = 0
    var misuses: [BoundedDispatchError.Code] = []
    var suspensions = 0
    /// How often those were told that all is over who asked for it.
    var notified: [Int] = []
  }

  struct Boom: Error {}

  let seed: UInt64
  let stepper: BlockStepper
  /// Whether work in the middle takes further steps, adds items and changes the queue.
  let isLively: Bool
  private let tally = Mutex(Tally())
  private let queue = Mutex<BoundedDispatchQueue?>(nil)

  init(seed: UInt64, limit: Int, isLively: Bool = true) {
    self.seed = seed
    self.isLively = isLively
    stepper = BlockStepper(seed: seed)
    let core = BoundedDispatchCore(
      label: "stepped", limit: limit, isShared: false,
      onMisuse: { [weak self] error in self?.tally.withLock { $0.misuses.append(error.code) } },
      submit: { [stepper] block in stepper.submit(block) })
    queue.withLock { $0 = BoundedDispatchQueue(core) }
  }

  var now: Tally { tally.withLock { $0 } }

  var status: BoundedDispatchQueue.Status? { held?.status }

  private var held: BoundedDispatchQueue? { queue.withLock { $0 } }

  // MARK: Items

  func add(_ kind: Kind) {
    guard let queue = held else { return }
    let number = tally.withLock { tally in
      tally.kinds.append(kind)
      return tally.kinds.count - 1
    }
    switch kind {
    case .block, .throwingBlock:
      queue.add(work: { [self] in
        begin()
        if isLively { live() }
        tally.withLock { $0.working -= 1 }
        if kind == .throwingBlock { throw Boom() }
        return number
      }) { [self] in end(number, $0) }
    default:
      queue.add(start: { [self] done in start(kind, number, done) }) { [self] in end(number, $0) }
    }
  }

  private func start(_ kind: Kind, _ number: Int, _ done: Completion) {
    begin()
    if isLively { live() }
    switch kind {
    case .block, .throwingBlock: break
    case .callsLater: tally.withLock { $0.held.append((done, number, true)) }
    case .letsGoLater: tally.withLock { $0.held.append((done, number, false)) }
    case .letsGo: tally.withLock { $0.working -= 1 }
    case .callsInside, .callsTwice:
      tally.withLock { $0.working -= 1 }
      done(.success(number))
      if kind == .callsTwice { done(.success(-1)) }
    }
  }

  private func begin() {
    tally.withLock { tally in
      tally.working += 1
      tally.peak = max(tally.peak, tally.working)
    }
  }

  private func end(_ number: Int, _ result: Result<Int, any Error>) {
    let end =
      switch result {
      case .success(let value): value == number ? "value" : "value of another"
      case .failure(is Boom): "boom"
      case .failure(let error as BoundedDispatchError): "\(error.code.kind)"
      case .failure(let error): "\(error)"
      }
    tally.withLock { $0.ends[number, default: []].append(end) }
    if isLively, stepper.random(in: 0..<4) == 0 { live() }
  }

  // MARK: Steps

  /// Does one thing out of all that can be done.
  func live() {
    switch stepper.random(in: 0..<16) {
    case 0: held?.setLimit(stepper.random(in: 0..<5))
    case 1: suspend()
    case 2: resume()
    case 3 where stepper.random(in: 0..<4) == 0: held?.cancelWaiting()
    case 4: askForIdle()
    case 5...7: endOneHeld()
    case 8, 9: if now.kinds.count < 40 { add(Kind.allCases[stepper.random(in: 0..<7)]) }
    default: stepper.step()
    }
  }

  /// Calls the completion of an item from outside, or lets go of it; false if there is none.
  @discardableResult
  func endOneHeld() -> Bool {
    let index = now.held.isEmpty ? nil : stepper.random(in: 0..<now.held.count)
    guard let index else { return false }
    let (completion, number, isCalled) = tally.withLock { tally in
      tally.working -= 1
      return tally.held.remove(at: index)
    }
    // Whoever was told to let go does so at the end of this scope.
    if isCalled { completion(.success(number)) }
    return true
  }

  func suspend() {
    guard let queue = held else { return }
    tally.withLock { $0.suspensions += 1 }
    queue.suspend()
  }

  func resume() {
    let isSuspended = tally.withLock { tally in
      guard tally.suspensions > 0 else { return false }
      tally.suspensions -= 1
      return true
    }
    if isSuspended { held?.resume() }
  }

  func askForIdle() {
    guard let queue = held else { return }
    let number = tally.withLock { tally in
      tally.notified.append(0)
      return tally.notified.count - 1
    }
    queue.notify { [self] in tally.withLock { $0.notified[number] += 1 } }
  }

  func setLimit(_ limit: Int) { held?.setLimit(limit) }

  /// Lets go of the queue itself.
  func drop() {
    // It may call back, so it must not go while the lock is held.
    let last = queue.withLock { queue in
      defer { queue = nil }
      return queue
    }
    withExtendedLifetime(last) {}
  }

  /// Takes all steps that are left; nothing of the world is changed any more.
  func finish() {
    while stepper.step() || endOneHeld() {}
  }
}
