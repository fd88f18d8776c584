// SPDX-License-Identifier: Apache-2.0

import Batchwise
import Synchronization

extension Core {
  /// Limiters next to a semaphore that keeps the same promises, and to what cannot be avoided.
  static func limiters() -> [Comparison] {
    let (limiter, semaphore) = (ConcurrencyLimiter(limit: 4), ActorSemaphore(count: 4))
    let (million, some) = (1_000_000, 100_000)
    let counter = Counter()
    let locks = Subject("three locks and the call", count: million) {
      for _ in 0..<million {
        for _ in 0..<3 { counter.increment() }
        await call { await nothing() }
      }
    }
    let contended = [8, 64].flatMap { tasks in
      [
        Comparison(
          Subject("limiter, \(tasks) tasks that yield", count: some) {
            await share(some, among: tasks) { try? await limiter.withPermit { await Task.yield() } }
          },
          to: Subject("actor semaphore", count: some) {
            await share(some, among: tasks) {
              try? await semaphore.wait()
              await Task.yield()
              await semaphore.signal()
            }
          }, atMost: nil),
        Comparison(
          Subject("limiter, \(tasks) tasks that yield", count: some) {
            await share(some, among: tasks) { try? await limiter.withPermit { await Task.yield() } }
          },
          to: Subject("two yields", count: some) {
            await share(some, among: tasks) {
              await Task.yield()
              await Task.yield()
            }
          }, atMost: nil),
      ]
    }
    return contended + [
      Comparison(
        Subject("limiter.withPermit, uncontended", count: million) {
          for _ in 0..<million { try? await limiter.withPermit { await nothing() } }
        }, to: locks, atMost: nil),
      Comparison(
        Subject("limiter.tryAcquire, uncontended", count: million) {
          for _ in 0..<million { limiter.tryAcquire()?.release() }
        }, to: locks, atMost: nil),
      Comparison(
        cancelled(200_000),
        to: .timed("actor semaphore", count: 200_000) {
          let semaphore = ActorSemaphore(count: 0)
          return await timeToCancel(200_000) {
            try await semaphore.wait()
          } areWaiting: {
            await semaphore.waiting == 200_000
          }
        }, atMost: nil),
      Comparison(cancelled(200_000), to: cancelled(20_000), atMost: 2),
    ]
  }
}

/// Runs a body so many times, in some tasks at once.
private func share(
  _ count: Int, among tasks: Int, _ body: @escaping @Sendable () async -> Void
) async {
  await withDiscardingTaskGroup { group in
    for _ in 0..<tasks {
      group.addTask { for _ in 0..<count / tasks { await body() } }
    }
  }
}

private func cancelled(_ count: Int) -> Subject {
  .timed("limiter, \(count) cancelled", count: count) {
    let limiter = ConcurrencyLimiter(limit: 0)
    return await timeToCancel(count) {
      try await limiter.withPermit {}
    } areWaiting: {
      limiter.status.waiting == count
    }
  }
}

/// How long it takes from the cancellation of so many tasks that wait to the end of them all.
private func timeToCancel(
  _ count: Int, _ wait: @escaping @Sendable () async throws -> Void,
  areWaiting: () async -> Bool
) async -> Duration {
  let clock = ContinuousClock()
  var begin = clock.now
  await withDiscardingTaskGroup { group in
    for _ in 0..<count { group.addTask { try? await wait() } }
    while await !areWaiting() { await Task.yield() }
    begin = clock.now
    group.cancelAll()
  }
  return begin.duration(to: clock.now)
}

@inline(never) private func nothing() async {}

@inline(never) private func call(_ body: () async -> Void) async { await body() }

private final class Counter: Sendable {
  private let count = Mutex(0)

  func increment() { count.withLock { $0 += 1 } }
}

/// A semaphore as it is written by hand: first come, first served, and a wait can be cancelled.
private actor ActorSemaphore {
  private var count: Int
  private var lastID = 0
  private var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]
  private var order: [Int] = []
  private var head = 0

  init(count: Int) { self.count = count }

  var waiting: Int { waiters.count }

  func wait() async throws {
    try Task.checkCancellation()
    if count > 0 {
      count -= 1
      return
    }
    lastID += 1
    let id = lastID
    let isGranted = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if Task.isCancelled { return continuation.resume(returning: false) }
        waiters[id] = continuation
        order.append(id)
      }
    } onCancel: {
      Task { await self.cancel(id) }
    }
    if !isGranted { throw CancellationError() }
  }

  private func cancel(_ id: Int) { waiters.removeValue(forKey: id)?.resume(returning: false) }

  func signal() {
    while head < order.count {
      let id = order[head]
      head += 1
      if head > 1_000 {
        order.removeFirst(head)
        head = 0
      }
      if let waiter = waiters.removeValue(forKey: id) { return waiter.resume(returning: true) }
    }
    count += 1
  }
}
