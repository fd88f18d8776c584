// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Dispatch
import Synchronization

/// What has become of the jobs of one test.
final class JobLog: Sendable {
  struct Counts: Sendable {
    /// The numbers of the jobs that have started, in this order.
    var started: [Int] = []
    var ended = 0
    /// The most that were in flight at once, since it was last set back.
    var peak = 0

    var inFlight: Int { started.count - ended }
  }

  private let counts = Watched(Counts())
  private let brakes = Mutex<[Int: Brake]>([:])

  var now: Counts { counts.value }

  /// Forgets how many were in flight before.
  func restartPeak() { counts.update { $0.peak = $0.inFlight } }

  func wait(until isReached: @escaping @Sendable (Counts) -> Bool) async {
    await counts.wait(until: isReached)
  }

  /// Lets a job end that is held, or will be.
  func release(_ number: Int) { brake(number).open() }

  /// Lets those end that are held now, and tells how many they are.
  @discardableResult
  func releaseAll() -> Int {
    let held = brakes.withLock { brakes in
      defer { brakes = [:] }
      return brakes.values
    }
    for brake in held { brake.open() }
    return held.count
  }

  fileprivate func brake(_ number: Int) -> Brake {
    brakes.withLock { brakes in
      let brake = brakes[number] ?? Brake()
      brakes[number] = brake
      return brake
    }
  }

  fileprivate func start(_ number: Int) {
    counts.update { counts in
      counts.started.append(number)
      counts.peak = max(counts.peak, counts.inFlight)
    }
  }

  fileprivate func end() { counts.update { $0.ended += 1 } }
}

/// A piece of work that every face can do: as a task, as a callback, and as a block.
///
/// It is deaf to cancellation, so once it has started it ends by its own kind alone.
struct Job: Sendable {
  enum Kind: CaseIterable {
    /// Ends at once.
    case instant
    /// Ends a little later.
    case slow
    /// Ends when the test releases it.
    case held
  }

  let number: Int
  let kind: Kind
  let log: JobLog

  init(_ number: Int, _ kind: Kind = .instant, _ log: JobLog) {
    self.number = number
    self.kind = kind
    self.log = log
  }

  /// Does the work in the task of the caller.
  func run() async {
    let brake = begin()
    switch kind {
    case .instant: break
    case .slow: for _ in 0..<3 { await Task.yield() }
    case .held:
      await withCheckedContinuation { continuation in
        brake?.whenOpen { continuation.resume() }
      }
    }
    log.end()
  }

  /// Does the work on the thread of the caller.
  func runBlocking() {
    let brake = begin()
    switch kind {
    case .instant: break
    case .slow: for _ in 0..<100 { _ = log.now }
    case .held:
      let isOpen = DispatchSemaphore(value: 0)
      brake?.whenOpen { isOpen.signal() }
      isOpen.wait()
    }
    log.end()
  }

  /// Begins the work, which calls back when it has ended.
  func start(_ done: @escaping @Sendable () -> Void) {
    let brake = begin()
    let end: @Sendable () -> Void = { [log] in
      log.end()
      done()
    }
    switch kind {
    case .instant: end()
    case .slow: DispatchQueue.global().async { end() }
    case .held: brake?.whenOpen(end)
    }
  }

  /// Notes the start; the brake of one that is held is there before that is seen.
  private func begin() -> Brake? {
    let brake = kind == .held ? log.brake(number) : nil
    log.start(number)
    return brake
  }
}

/// Holds a job, whatever kind of work it is.
private final class Brake: Sendable {
  private let state = Mutex((isOpen: false, actions: [@Sendable () -> Void]()))

  func open() {
    let actions = state.withLock { state in
      state.isOpen = true
      defer { state.actions = [] }
      return state.actions
    }
    for action in actions { action() }
  }

  func whenOpen(_ action: @escaping @Sendable () -> Void) {
    let isOpen = state.withLock { state in
      if !state.isOpen { state.actions.append(action) }
      return state.isOpen
    }
    if isOpen { action() }
  }
}
