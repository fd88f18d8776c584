// SPDX-License-Identifier: Apache-2.0

import Batchwise
import Synchronization

/// A verb that reads its jobs from a list that still grows.
struct ForEachFace: TaskFace {
  private let jobs: AsyncStream<Job>.Continuation
  private let call: Task<Void, any Error>
  private let limit: Int

  init(limit: Int) {
    let (stream, jobs) = AsyncStream.makeStream(of: Job.self)
    self.jobs = jobs
    self.limit = limit
    call = Task { try await stream.concurrentForEach(limit: limit, Self.run) }
  }

  func add(_ job: Job) { jobs.yield(job) }

  func cancelAll() { call.cancel() }

  func idle() async {
    jobs.finish()
    _ = await call.result
  }

  func addAsCancelled(_ job: Job) async throws {
    try await cancelled { [limit] in try await [job].concurrentForEach(limit: limit, Self.run) }
  }

  /// Its error type has room for a cancellation.
  private static func run(_ job: Job) async throws { await job.run() }
}

/// A stream of results, read as they come, from a list that still grows.
struct ResultsFace: TaskFace {
  private let jobs: AsyncStream<Job>.Continuation
  private let reader: Task<Void, Never>
  private let limit: Int

  init(limit: Int) {
    let (stream, jobs) = AsyncStream.makeStream(of: Job.self)
    self.jobs = jobs
    self.limit = limit
    reader = Task {
      for await _ in stream.concurrentResults(limit: limit, order: .completion, { await $0.run() })
      {}
    }
  }

  func add(_ job: Job) { jobs.yield(job) }

  func cancelAll() { reader.cancel() }

  func idle() async {
    jobs.finish()
    await reader.value
  }

  func addAsCancelled(_ job: Job) async throws {
    try await cancelled { [limit] in
      for await _ in [job].concurrentResults(limit: limit, { await $0.run() }) {}
      try Task.checkCancellation()
    }
  }
}

/// A limiter, with a task for each job.
struct LimiterFace: TaskFace, AdjustableFace {
  private let limiter: ConcurrencyLimiter
  private let tasks = TasksInOrder()

  init(limit: Int) { limiter = ConcurrencyLimiter(limit: limit) }

  func add(_ job: Job) {
    tasks.add { [limiter] in try await limiter.withPermit { await job.run() } }
  }

  func cancelAll() { tasks.cancelAll() }

  func idle() async { await tasks.wait() }

  func addAsCancelled(_ job: Job) async throws {
    try await cancelled { [limiter] in try await limiter.withPermit { await job.run() } }
  }

  func setLimit(_ limit: Int) { limiter.setLimit(limit) }

  var status: FaceStatus {
    let status = limiter.status
    return FaceStatus(limit: status.limit, inFlight: status.inFlight, waiting: status.waiting)
  }
}

/// A keyed limiter with many keys, of which only the total has a limit.
struct KeyedLimiterFace: TaskFace, AdjustableFace {
  private let limiter: KeyedLimiter<Int>
  private let tasks = TasksInOrder()

  init(limit: Int) { limiter = KeyedLimiter(limit: limit, limitPerKey: .max) }

  func add(_ job: Job) {
    tasks.add { [limiter] in
      try await limiter.withPermit(for: job.number % 3) { await job.run() }
    }
  }

  func cancelAll() { tasks.cancelAll() }

  func idle() async { await tasks.wait() }

  func addAsCancelled(_ job: Job) async throws {
    try await cancelled { [limiter] in
      try await limiter.withPermit(for: job.number % 3) { await job.run() }
    }
  }

  func setLimit(_ limit: Int) { limiter.setLimit(limit) }

  var status: FaceStatus {
    let status = limiter.status
    return FaceStatus(limit: status.limit, inFlight: status.inFlight, waiting: status.waiting)
  }
}

/// One key of a keyed limiter whose total has no limit.
struct KeyFace: TaskFace, AdjustableFace {
  private let limiter: KeyedLimiter<String>
  private let tasks = TasksInOrder()

  init(limit: Int) { limiter = KeyedLimiter(limit: .max, limitPerKey: limit) }

  func add(_ job: Job) {
    tasks.add { [limiter] in try await limiter.withPermit(for: "key") { await job.run() } }
  }

  func cancelAll() { tasks.cancelAll() }

  func idle() async { await tasks.wait() }

  func addAsCancelled(_ job: Job) async throws {
    try await cancelled { [limiter] in
      try await limiter.withPermit(for: "key") { await job.run() }
    }
  }

  func setLimit(_ limit: Int) { limiter.setLimitPerKey(limit) }

  var status: FaceStatus {
    let status = limiter.status(for: "key")
    return FaceStatus(limit: status.limit, inFlight: status.inFlight, waiting: status.waiting)
  }
}

/// A task queue.
struct TaskQueueFace: TaskFace, AdjustableFace {
  private let queue: TaskQueue<Void>

  init(limit: Int) { queue = TaskQueue(limit: limit) }

  func add(_ job: Job) { queue.add { await job.run() } }

  func cancelAll() { queue.cancelAll() }

  /// Not even a test that has run into its time limit leaves jobs behind.
  func idle() async {
    queue.finish()
    await queue.run()
  }

  /// A call of `add` cannot be cancelled, one that waits for room can.
  func addAsCancelled(_ job: Job) async throws {
    try await cancelled { [queue] in _ = try await queue.addWhenRoom { await job.run() } }
  }

  func setLimit(_ limit: Int) { queue.setLimit(limit) }

  var status: FaceStatus {
    let status = queue.status
    return FaceStatus(limit: status.limit, inFlight: status.inFlight, waiting: status.waiting)
  }
}

// MARK: Tasks

/// Does something as a task that is cancelled before it begins.
private func cancelled(_ operation: @escaping @Sendable () async throws -> Void) async throws {
  let task = Task {
    withUnsafeCurrentTask { $0?.cancel() }
    try await operation()
  }
  try await task.value
}

/// Tasks that come in the order of the calls that made them.
private final class TasksInOrder: Sendable {
  private let tasks = Mutex<[Task<Void, any Error>]>([])

  func add(_ operation: @escaping @Sendable () async throws -> Void) {
    let task = Task(executorPreference: FirstStepAtOnce()) { try await operation() }
    tasks.withLock { $0.append(task) }
  }

  func cancelAll() {
    for task in tasks.withLock({ $0 }) { task.cancel() }
  }

  func wait() async {
    for task in tasks.withLock({ $0 }) { _ = await task.result }
  }
}

/// Runs a task's first step inside the call that makes the task, and all others where tasks run.
private final class FirstStepAtOnce: TaskExecutor {
  private let hasBegun = Atomic(false)

  func enqueue(_ job: consuming ExecutorJob) {
    if hasBegun.exchange(true, ordering: .acquiringAndReleasing) {
      globalConcurrentExecutor.enqueue(job)
    } else {
      unsafe UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}
