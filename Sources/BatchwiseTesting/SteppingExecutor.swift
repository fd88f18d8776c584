// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Runs tasks one step at a time, in an order that a seed decides.
///
///     for seed in 0..<1_000 as Range<UInt64> {
///       let executor = SteppingExecutor(seed: seed)
///       let (result, _) = try executor.run { await (0..<9).concurrentMap(limit: 3) { $0 * $0 } }
///       #expect(try result.get() == (0..<9).map { $0 * $0 }, "seed \(seed)")
///     }
///
/// A step is what a task does between two suspensions. Since only one runs at once, and the next is
/// picked by a seeded generator, a seed is an interleaving: it finds a mistake again, and thousands
/// of seeds walk through thousands of schedules. When nothing is left to step and there is no
/// result, somebody waits for ever: a deadlock, found without waiting for it.
///
/// The code under test must stay on this executor: child tasks, default actors and resumed
/// continuations do, a bare `Task {}`, the main actor and a real clock do not.
public final class SteppingExecutor: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    var generator: SeededGenerator
  }

  private let state: Mutex<State>

  /// The seed that decides the order.
  public let seed: UInt64

  /// Creates an executor whose order is decided by a seed.
  public init(seed: UInt64) {
    self.seed = seed
    state = Mutex(State(generator: SeededGenerator(seed: seed)))
  }

  /// Takes in a job, without running it.
  ///
  /// The Swift runtime calls this.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.withLock { $0.jobs.append(job) }
  }

  /// Runs one of the waiting jobs until it suspends.
  ///
  /// - Returns: Whether there was one.
  /// - Complexity: O(1), besides the job.
  public func step() -> Bool {
    let job = state.withLock { state -> UnownedJob? in
      guard !state.jobs.isEmpty else { return nil }
      let index = Int.random(in: state.jobs.indices, using: &state.generator)
      state.jobs.swapAt(index, state.jobs.count - 1)
      return state.jobs.removeLast()
    }
    guard let job else { return false }
    unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    return true
  }

  /// Starts an operation, takes every step of it, and returns how it ended.
  ///
  /// Steps that are left when the operation has ended, of tasks that outlive it, are taken too.
  ///
  /// **Time.** With a manual clock, time is virtual: when nothing is left to step and the operation
  /// has not ended, the clock moves to the earliest deadline that somebody sleeps for. An operation
  /// that for ever sleeps again is therefore run for ever.
  ///
  /// - Parameters:
  ///   - clock: The clock that the operation sleeps by; nil if it does not sleep.
  ///   - stepOfCancellation: The number of steps after which the operation's task is cancelled;
  ///     nil for never.
  ///   - whenIdle: Called once when nothing is left to step, nobody sleeps, and the operation has
  ///     not ended; then its task is cancelled, and the stepping goes on.
  ///   - operation: What to run; its task prefers this executor.
  /// - Returns: What the operation returned or threw, and the number of steps it took.
  /// - Throws: `Deadlock` if nothing is left to step, nobody sleeps, and the operation has not
  ///   ended.
  /// - Complexity: O(1) for each step, besides the step. Every step runs on the calling thread,
  ///   which is blocked until the last.
  public func run<Success: Sendable, Failure: Error>(
    clock: ManualClock? = nil, cancellingAfter stepOfCancellation: Int? = nil,
    cancelling whenIdle: (() -> Void)? = nil,
    _ operation: @escaping @Sendable () async throws(Failure) -> Success
  ) throws(Deadlock) -> (result: Result<Success, Failure>, steps: Int) {
    let ending = Ending<Success, Failure>()
    let task = Task(executorPreference: self) {
      let result: Result<Success, Failure>
      do throws(Failure) {
        result = .success(try await operation())
      } catch {
        result = .failure(error)
      }
      ending.result.withLock { $0 = result }
    }
    var steps = 0
    if stepOfCancellation == 0 { task.cancel() }
    func takeAllSteps() {
      repeat {
        while step() {
          steps += 1
          if steps == stepOfCancellation { task.cancel() }
        }
      } while ending.isMissing && clock?.advanceToEarliestDeadline() == true
    }
    takeAllSteps()
    if let whenIdle, ending.isMissing {
      whenIdle()
      task.cancel()
      takeAllSteps()
    }
    guard let result = ending.result.withLock({ $0 }) else {
      throw Deadlock(seed: seed, steps: steps)
    }
    return (result, steps)
  }

  private final class Ending<Success: Sendable, Failure: Error>: Sendable {
    let result = Mutex<Result<Success, Failure>?>(nil)

    var isMissing: Bool { result.withLock { $0 == nil } }
  }

  /// Nothing was left to step, and the operation had not ended.
  public struct Deadlock: Error, CustomStringConvertible {
    /// The seed that finds it again.
    public let seed: UInt64
    /// How many steps were taken.
    public let steps: Int

    /// The seed and the number of steps.
    public var description: String { "deadlock after \(steps) steps, with seed \(seed)" }
  }
}
