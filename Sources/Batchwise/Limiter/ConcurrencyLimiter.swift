// SPDX-License-Identifier: Apache-2.0

/// A limit that many callers share: at most so many permits are out at once.
///
///     let limiter = ConcurrencyLimiter(limit: 4)
///     let page = try await limiter.withPermit { try await load(url) }
///
/// The work runs in the caller's own task, so its priority, its task-local values and its
/// cancellation are the caller's. No thread is blocked while a caller waits.
///
/// **Order.** Waiters start by priority, and in the order in which they came among equals. A waiter
/// whose task is raised to a higher priority moves forward. Nobody overtakes the first: a heavy
/// waiter is not starved by light ones.
///
/// **The limit** can be changed at any time. Lowering it interrupts nobody: it lets nobody start
/// until enough have ended. Zero is a closed gate, and raising it lets waiters start at once.
///
/// **Nesting.** A body that asks its own limiter again would wait for itself; what it gets instead
/// is chosen with ``PermitNesting`` and never a hang.
public final class ConcurrencyLimiter: Sendable {
  @usableFromInline let storage: LimiterStorage

  /// Creates a limiter.
  ///
  /// - Parameters:
  ///   - limit: The most permits out at once. A negative number is a programming error and traps.
  ///   - nesting: What becomes of a request from inside one of its own permits.
  public init(limit: Int, nesting: PermitNesting = .shares) {
    storage = LimiterStorage(limit: limit, nesting: nesting)
  }

  /// Runs a body that holds a permit, and gives the permit back when the body ends.
  ///
  /// The body runs where the caller runs, and is not entered before the permit is there.
  ///
  /// **Cancellation.** A caller that is cancelled before its body began leaves the order and gets
  /// a `CancellationError`, also if it was cancelled before the call and there is room. A body that
  /// has begun is not interrupted; it sees `Task.isCancelled`.
  ///
  /// - Parameters:
  ///   - priority: Where to stand in the order; the priority of the current task by default.
  ///   - weight: How many permits to hold, all or none. More than the limit counts as the whole
  ///     limit, and so waits until nothing else is in flight. Below one is a programming error and
  ///     traps.
  ///   - body: What to run.
  /// - Returns: What the body returns.
  /// - Throws: What the body throws, `CancellationError`, or ``NestedPermitError``.
  /// - Complexity: O(log *n*), where *n* wait.
  @inlinable public func withPermit<Success>(
    priority: TaskPriority? = nil, weight: Int = 1, _ body: () async throws -> Success
  ) async throws -> Success {
    let hold =
      switch try storage.enterOrWait(priority: priority, weight: weight) {
      case .granted(let hold): hold
      case .waits(let ticket, let priority): try await storage.wait(ticket, since: priority)
      }
    defer { storage.release(hold) }
    return try await HeldPermit.current.withValue(storage.mark(hold), operation: body)
  }

  /// Takes a permit, waiting for it if need be.
  ///
  /// Prefer ``withPermit(priority:weight:_:)``. A permit taken here belongs to no task, so asking
  /// for a second while holding it may wait for ever.
  ///
  /// **Cancellation.** A caller that is cancelled while it waits leaves the order and gets a
  /// `CancellationError`, also if it was cancelled before the call and there is room. A permit that
  /// is there is not taken away.
  ///
  /// - Parameters:
  ///   - priority: Where to stand in the order; the priority of the current task by default.
  ///   - weight: How many permits to take, all or none; see ``withPermit(priority:weight:_:)``.
  /// - Returns: The permit, to be released or dropped.
  /// - Throws: `CancellationError`, or ``NestedPermitError`` in the body of a `withPermit`.
  /// - Complexity: O(log *n*), where *n* wait.
  public func acquire(priority: TaskPriority? = nil, weight: Int = 1) async throws -> Permit {
    Permit(try await storage.acquire(priority: priority, weight: weight), of: storage)
  }

  /// Takes a permit if there is one, overtaking nobody.
  ///
  /// It never waits and does not look at cancellation. In the body of a `withPermit` it takes a
  /// permit that is shared, if ``PermitNesting`` allows that.
  ///
  /// - Parameter weight: How many permits to take, all or none. Below one is a programming error
  ///   and traps.
  /// - Returns: The permit, to be released or dropped; nil if there is none, if somebody waits, or
  ///   if nesting is not allowed.
  /// - Complexity: O(1), besides the permits that the caller is inside of.
  public func tryAcquire(weight: Int = 1) -> Permit? {
    guard let hold = storage.tryAcquire(weight: weight) else { return nil }
    return Permit(hold, of: storage)
  }

  /// Changes the limit; see the type for what that means to those in flight and those who wait.
  ///
  /// - Parameter limit: The most permits out at once, or zero. A negative number traps.
  /// - Complexity: O(1), besides O(log *n*) for each of those who start, where *n* wait.
  public func setLimit(_ limit: Int) {
    precondition(limit >= 0, "a limit cannot be negative, but is \(limit)")
    storage.changeRule { $0.setLimit(limit) }
  }

  /// What is true of a limiter at one moment.
  public struct Status: Sendable, Hashable {
    /// The most permits out at once.
    public var limit: Int
    /// How many permits are out; more than the limit only after it was lowered.
    public var inFlight: Int
    /// How many wait for a permit.
    public var waiting: Int
  }

  /// What is true now, all of one moment.
  ///
  /// - Complexity: O(1), under a lock.
  public var status: Status {
    storage.read { Status(limit: $0.limit, inFlight: $0.inFlight, waiting: $0.waiting) }
  }
}
