// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseDispatch
import BatchwiseTesting
import Dispatch
import Synchronization
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Everything there is, at once and on real threads, which ends quiet.
///
/// Limiters, keyed limiters, queues, rates, retries, timeouts, verbs and the Dispatch queue work inside
/// one another, with random failures and cancellations, while all limits change.
///
/// The seed is printed. It decides what is run, not how the threads meet, so a run with the same seed
/// (`BATCHWISE_SOAK_SEED`) is likely to fail again, but need not. `BATCHWISE_SOAK_SECONDS` makes it
/// longer.
@Suite("A soak over everything", .timeLimit(.minutes(60)))
struct SoakTests {
  // In a process of its own: the alarm that has to be empty in the end is everybody's, and so tests that
  // run meanwhile would have their deadlines in it.
  @Test("ends quiet, with every place given back and every deadline gone")
  func soak() async throws {
    let seed = setting("BATCHWISE_SOAK_SEED") ?? UInt64.random(in: 0..<1_000_000_000)
    let seconds = setting("BATCHWISE_SOAK_SECONDS") ?? 6
    print("soak: BATCHWISE_SOAK_SEED=\(seed) BATCHWISE_SOAK_SECONDS=\(seconds)")
    await #expect(processExitsWith: .success) {
      [seed = seed as UInt64, seconds = seconds as UInt64] in
      await runSoak(seed: seed, seconds: seconds)
    }
  }

  private func setting(_ name: String) -> UInt64? {
    getenv(name).flatMap { UInt64(String(cString: $0)) }
  }
}

/// Runs everything at once for some seconds, and looks at what is left of it.
private func runSoak(seed: UInt64, seconds: UInt64) async {
  let world = SoakWorld()
  let end = ContinuousClock.now.advanced(by: .seconds(seconds))
  await withDiscardingTaskGroup { group in
    for lane in 0..<6 as Range<UInt64> {
      group.addTask {
        var random = SeededGenerator(seed: seed &* 64 &+ lane)
        while ContinuousClock.now < end { await world.runOne(using: &random) }
      }
    }
    group.addTask {
      // All limits go up and down, and what was closed is opened again.
      var random = SeededGenerator(seed: seed)
      while ContinuousClock.now < end {
        world.changeLimits(using: &random)
        for _ in 0..<Int.random(in: 0..<20, using: &random) { await Task.yield() }
        world.openAll()
        for _ in 0..<20 { await Task.yield() }
      }
    }
  }
  world.openAll()
  await world.end()
  // Nothing is worth waking up for any more, as soon as the last rate has been looked at.
  while world.deadlines > 0 { await Task.yield() }
  let left = world.left
  #expect(left.isEmpty, "seed \(seed): \(left)")
  #expect(world.started > 0)
  print("soak: \(world.started) pieces of work")
}

/// All the rooms, shared by all who work.
private final class SoakWorld: Sendable {
  struct Boom: Error {}

  private let limiter = ConcurrencyLimiter(limit: 3)
  private let hosts = KeyedLimiter<Int>(limit: 6, limitPerKey: 2)
  private let rate = RateLimiter(.tokenBucket(50, per: .milliseconds(1), burst: 200))
  private let adaptive = AdaptiveLimiter(AIMDLimit(initial: 4, within: 1...8))
  private let queue = TaskQueue<Int>(
    limit: 4,
    options: TaskQueueOptions(
      limitPerKey: 2, backlog: .limited(to: 8, overflow: .dropOldest), ageing: .milliseconds(1)))
  private let dispatch = BoundedDispatchQueue(label: "soak", limit: 3) { _ in }
  private let alarm = Alarm.shared(for: ContinuousClock())
  private let work = InFlightProbe()
  /// Completions of the Dispatch queue that were promised and have not been called.
  private let promised = Watched(0)
  /// Streams of results that are under way, perhaps without their reader.
  private let runs = Watched(0)

  /// A stream that is under way for as long as its transform is held.
  private final class Run: Sendable {
    private let count: Watched<Int>

    init(_ count: Watched<Int>) {
      self.count = count
      count.update { $0 += 1 }
    }

    deinit { count.update { $0 -= 1 } }
  }

  var started: Int { work.counts.started }

  // MARK: Limits

  func changeLimits(using random: inout SeededGenerator) {
    limiter.setLimit(Int.random(in: 0...5, using: &random))
    hosts.setLimit(Int.random(in: 0...8, using: &random))
    hosts.setLimitPerKey(Int.random(in: 0...3, using: &random))
    hosts.setLimit([nil, 1, 0].randomElement(using: &random) ?? nil, for: 0)
    queue.setLimit(Int.random(in: 0...5, using: &random))
    queue.setLimitPerKey(Int.random(in: 0...3, using: &random))
    dispatch.setLimit(Int.random(in: 0...4, using: &random))
    rate.setLimit(
      .tokenBucket(Int.random(in: 1...50, using: &random), per: .milliseconds(1), burst: 200))
    if Bool.random(using: &random) { queue.pause() }
    if Int.random(in: 0..<10, using: &random) == 0 { queue.cancelAll() }
    if Int.random(in: 0..<10, using: &random) == 0 { dispatch.cancelWaiting() }
  }

  func openAll() {
    limiter.setLimit(3)
    hosts.setLimit(6)
    hosts.setLimitPerKey(2)
    hosts.setLimit(nil, for: 0)
    queue.setLimit(4)
    queue.setLimitPerKey(2)
    queue.resume()
    dispatch.setLimit(3)
  }

  // MARK: Work

  /// Does one piece of work in a task of its own, which is perhaps cancelled; its outcome is of no
  /// interest.
  func runOne(using random: inout SeededGenerator) async {
    let seed = random.next()
    let task = Task {
      var random = SeededGenerator(seed: seed)
      try await piece(using: &random, depth: 0)
    }
    if Int.random(in: 0..<3, using: &random) == 0 {
      for _ in 0..<Int.random(in: 0..<6, using: &random) { await Task.yield() }
      task.cancel()
    }
    _ = await task.result
  }

  /// Work that ends after a while, or fails, or has other work inside.
  ///
  /// Rooms are entered in one order, from the first to the last of the cases, as locks are.
  private func piece(using random: inout SeededGenerator, depth: Int) async throws {
    let seed = random.next()
    let next = depth + 1 + Int.random(in: 0..<4, using: &random)
    let inside: @Sendable () async throws -> Void = { [self] in
      var random = SeededGenerator(seed: seed)
      if next < 9 {
        try await piece(using: &random, depth: next)
      } else {
        try await leaf(using: &random)
      }
    }
    let key = Int.random(in: 0..<4, using: &random)
    switch depth {
    case 0:
      let limit = Int.random(in: 1...4, using: &random)
      let run = Run(runs)
      let results = (0..<limit).concurrentResults(limit: limit) { _ in
        _ = run
        try await inside()
      }
      for await outcome in results {
        if Bool.random(using: &random) { try outcome.get() }
      }
    case 1:
      try await (0..<3).concurrentForEach(limit: 2) { _ in try await inside() }
    case 2:
      try await withRetry(
        RetryPolicy(attempts: 2, backoff: .constant(.microseconds(50))), generator: random
      ) { _ in try await inside() }
    case 3:
      let time = Duration.microseconds(Int.random(in: 0..<2_000, using: &random))
      try await withTimeout(time) { try await inside() }
    case 4:
      let weight = Int.random(in: 1...3, using: &random)
      try await limiter.withPermit(weight: weight) {
        try await inside()
        if key == 0 { try await limiter.withPermit { await leaf() } }
      }
    case 5: try await hosts.withPermit(for: key) { try await inside() }
    case 6: try await adaptive.withPermit { try await inside() }
    case 7:
      let isBarrier = Int.random(in: 0..<20, using: &random) == 0
      let timeout = Duration.microseconds(Int.random(in: 0..<3_000, using: &random))
      let handle = queue.add(
        priority: Bool.random(using: &random) ? .high : .low, key: key, isBarrier: isBarrier,
        timeout: key == 1 ? timeout : nil, waitTimeout: key == 2 ? timeout : nil
      ) {
        try await inside()
        return key
      }
      if key == 3 { handle.setPriority(.background) }
      _ = try await handle.value
    default:
      if Bool.random(using: &random) { try await rate.acquire(tokens: key + 1) }
      try await onDispatch(using: &random)
      try await inside()
    }
  }

  private func leaf() async {
    await work.body { await Task.yield() }
  }

  private func leaf(using random: inout SeededGenerator) async throws {
    let turns = Int.random(in: 0..<4, using: &random)
    let fails = Int.random(in: 0..<10, using: &random) == 0
    try await work.body {
      for _ in 0..<turns { await Task.yield() }
      if fails { throw Boom() }
    }
  }

  /// Waits for work of a kind on the Dispatch queue.
  private func onDispatch(using random: inout SeededGenerator) async throws {
    let kind = Int.random(in: 0..<5, using: &random)
    promised.update { $0 += 1 }
    let result: Result<Int, any Error> = await withCheckedContinuation { continuation in
      let end: @Sendable (Result<Int, any Error>) -> Void = { [promised] result in
        promised.update { $0 -= 1 }
        continuation.resume(returning: result)
      }
      let global = DispatchQueue.global()
      switch kind {
      case 0: dispatch.async(execute: { 0 }, completionQueue: global, completion: end)
      case 1: dispatch.async(execute: { throw Boom() }, completionQueue: global, completion: end)
      case 2:
        dispatch.async(
          start: { (_: BoundedDispatchQueue.Completion<Int>) in }, completionQueue: global,
          completion: end)
      case 3:
        dispatch.async(
          start: { done in
            done(.success(3))
            done(.success(3))
          }, completionQueue: global, completion: end)
      default:
        dispatch.async(
          start: { done in global.async { done(.success(4)) } }, completionQueue: global,
          completion: end)
      }
    }
    _ = try result.get()
  }

  // MARK: The end

  /// Waits until all that goes on by itself is over.
  func end() async {
    // Those whose reader has left end soon, but not at once.
    await runs.wait { $0 == 0 }
    queue.finish()
    await queue.run()
    await withCheckedContinuation { continuation in
      dispatch.notify(queue: .global()) { continuation.resume() }
    }
    await promised.wait { $0 == 0 }
  }

  /// What is left and should not be.
  var left: [String] {
    let (limiter, hosts, queue, dispatch) = (
      limiter.status, hosts.status, queue.status, dispatch.status
    )
    let numbers = [
      "permits": limiter.inFlight, "waiting for a permit": limiter.waiting,
      "permits of keys": hosts.inFlight, "waiting for a key": hosts.waiting, "keys": hosts.keys,
      "waiting for a token": rate.status.waiting, "adaptive permits": adaptive.status.inFlight,
      "waiting for an adaptive permit": adaptive.status.waiting, "items": queue.inFlight,
      "items that lend their place": queue.lending,
      "waiting items": queue.waiting, "offered items": queue.offered,
      "overdue items": queue.counts.overdue, "dispatched": dispatch.inFlight,
      "waiting to be dispatched": dispatch.waiting, "bodies": work.counts.inFlight,
    ]
    return numbers.filter { $0.value != 0 }.map { "\($0.value) \($0.key)" }.sorted()
  }

  /// How many deadlines are set, everybody's in this process.
  var deadlines: Int { alarm.count }
}
