// SPDX-License-Identifier: Apache-2.0

/// A clock that stands still until a test moves it.
///
///     let clock = ManualClock()
///     async let answer = ask(timeout: .seconds(5), clock: clock)
///     await clock.waitForSleepers(1)
///     #expect(clock.deadlines.map(\.sinceStart) == [.seconds(5)])
///     clock.advance(by: .seconds(5))
///
/// Give it to code that is generic over `Clock`: hours pass in no time, and a test sees who sleeps,
/// and until when. Every sleeper that `advance` has reached is woken; it runs afterwards, and finds
/// the time to which the clock was moved. `SteppingExecutor.run(clock:)` moves the clock by itself.
public final class ManualClock: Clock, Sendable {
  /// A moment of a manual clock.
  public struct Instant: InstantProtocol, CustomStringConvertible {
    /// How long after the clock's creation this is.
    public let sinceStart: Duration

    /// The moment that lies this long after the clock's creation.
    public init(sinceStart: Duration) { self.sinceStart = sinceStart }

    /// The moment that lies this much later, or earlier if the duration is negative.
    public func advanced(by duration: Duration) -> Instant {
      Instant(sinceStart: sinceStart + duration)
    }

    /// How much later the other moment is; negative if it is earlier.
    public func duration(to other: Instant) -> Duration { other.sinceStart - sinceStart }

    /// Whether the first moment is earlier.
    public static func < (first: Instant, second: Instant) -> Bool {
      first.sinceStart < second.sinceStart
    }

    /// The time since the clock's creation.
    public var description: String { "\(sinceStart)" }
  }

  private struct Sleeper {
    let deadline: Instant
    let number: Int
    let continuation: CheckedContinuation<Bool, Never>

    static func wakesBefore(_ first: Sleeper, _ second: Sleeper) -> Bool {
      (first.deadline, first.number) < (second.deadline, second.number)
    }
  }

  private struct State {
    var now = Instant(sinceStart: .zero)
    var sleepers: [Int: Sleeper] = [:]
    var lastNumber = 0

    /// Moves the time, never backwards, and takes out whom that wakes, in order.
    mutating func advance(to instant: Instant) -> [Sleeper] {
      now = max(now, instant)
      let due = sleepers.values.filter { $0.deadline <= now }.sorted(by: Sleeper.wakesBefore)
      for sleeper in due { sleepers[sleeper.number] = nil }
      return due
    }
  }

  private let state = Watched(State())

  /// Creates a clock that stands at zero.
  public init() {}

  // MARK: The clock

  /// The time to which the clock was moved.
  public var now: Instant { state.value.now }

  /// The clock is exact.
  public var minimumResolution: Duration { .zero }

  /// Sleeps until the clock has been moved to the deadline.
  ///
  /// A deadline that is not in the future does not suspend.
  ///
  /// **Cancellation.** The sleep ends at once, and nothing is left of it.
  ///
  /// - Parameters:
  ///   - deadline: When to wake.
  ///   - tolerance: Ignored; the clock is exact.
  /// - Throws: `CancellationError` if the task is cancelled before it is woken.
  /// - Complexity: O(1), besides those who wait for sleepers.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    let number = state.update { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    let isWoken = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = state.update { state -> Bool? in
          if Task.isCancelled { return false }
          if deadline <= state.now { return true }
          state.sleepers[number] = Sleeper(
            deadline: deadline, number: number, continuation: continuation)
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      let sleeper = state.update { $0.sleepers.removeValue(forKey: number) }
      sleeper?.continuation.resume(returning: false)
    }
    if !isWoken { throw CancellationError() }
  }

  // MARK: The test

  /// Moves the clock on, and wakes those whose deadline that reaches.
  ///
  /// They are woken in the order of their deadlines, and with the same deadline in the order in
  /// which they fell asleep. A duration that is not positive wakes nobody.
  ///
  /// - Complexity: O(*s* log *s*) for *s* sleepers.
  public func advance(by duration: Duration) {
    wake { $0.advance(to: $0.now.advanced(by: duration)) }
  }

  /// Moves the clock to a moment, and wakes those whose deadline that reaches.
  ///
  /// They are woken in the order of their deadlines, and with the same deadline in the order in
  /// which they fell asleep. The clock never goes back: an earlier moment changes nothing.
  ///
  /// - Complexity: O(*s* log *s*) for *s* sleepers.
  public func advance(to instant: Instant) {
    wake { $0.advance(to: instant) }
  }

  /// How many sleep now.
  public var sleeperCount: Int { state.value.sleepers.count }

  /// The deadlines of those who sleep now, in the order in which they will be woken.
  ///
  /// - Complexity: O(*s* log *s*) for *s* sleepers.
  public var deadlines: [Instant] {
    state.value.sleepers.values.sorted(by: Sleeper.wakesBefore).map(\.deadline)
  }

  /// Waits until at least this many sleep at once, or until the task is cancelled.
  ///
  /// A task that is cancelled returns at once and without an error.
  public func waitForSleepers(_ count: Int) async {
    await state.wait { $0.sleepers.count >= count }
  }

  /// Moves the clock to the earliest deadline; false if nobody sleeps.
  func advanceToEarliestDeadline() -> Bool {
    wake { state in
      guard let earliest = state.sleepers.values.map(\.deadline).min() else { return [] }
      return state.advance(to: earliest)
    }
  }

  /// Wakes those whom the change of the state lets go, when the lock is gone; false if there is
  /// none.
  @discardableResult
  private func wake(_ change: (inout State) -> [Sleeper]) -> Bool {
    let due = state.update(change)
    for sleeper in due { sleeper.continuation.resume(returning: true) }
    return !due.isEmpty
  }
}
