// SPDX-License-Identifier: Apache-2.0

/// A limit for each key under a total that all share, such as a few requests for each host.
///
///     let hosts = KeyedLimiter<String>(limit: 32, limitPerKey: 4)
///     let page = try await hosts.withPermit(for: url.host) { try await load(url) }
///
/// A permit falls under both limits, and both are granted at one moment: nobody holds the one while
/// waiting for the other. The work runs in the caller's own task, and no thread is blocked while a
/// caller waits.
///
/// **Order.** As in ``ConcurrencyLimiter``, except that a waiter whose key has no room is passed by
/// those of other keys: a busy key keeps no other from starting.
///
/// **The limits** can be changed at any time. Lowering one interrupts nobody, and zero is a closed
/// gate.
///
/// **Memory** follows the keys in use. A key with nothing in flight and nobody waiting is
/// forgotten; only a limit of its own, set with ``setLimit(_:for:)``, is remembered.
///
/// **Nesting.** A body may ask for its own key again, as ``PermitNesting`` says. Asking for another
/// key throws a ``NestedPermitError``: two bodies that each hold the other's key would wait for
/// ever.
public final class KeyedLimiter<Key: Hashable & Sendable>: Sendable {
  @usableFromInline let storage: LimiterStorage

  /// Creates a limiter.
  ///
  /// - Parameters:
  ///   - limit: The most permits out at once, of all keys together; `.max` for as many as the keys
  ///     allow. A negative number is a programming error and traps.
  ///   - limitPerKey: The most permits out at once for a key without a limit of its own. A negative
  ///     number traps.
  ///   - nesting: What becomes of a request for a key from inside a permit for that key.
  public init(limit: Int, limitPerKey: Int, nesting: PermitNesting = .shares) {
    storage = LimiterStorage(limit: limit, keyLimit: limitPerKey, nesting: nesting)
  }

  // MARK: Permits

  /// Runs a body that holds a permit for a key, and gives the permit back when the body ends.
  ///
  /// The body runs where the caller runs, and is not entered before the permit is there.
  ///
  /// **Cancellation.** A caller that is cancelled before its body began leaves the order and gets
  /// a `CancellationError`, also if it was cancelled before the call and there is room. A body that
  /// has begun is not interrupted; it sees `Task.isCancelled`.
  ///
  /// - Parameters:
  ///   - key: Whose limit the permit falls under.
  ///   - priority: Where to stand in the order; the priority of the current task by default.
  ///   - weight: How many permits to hold, all or none. More than a limit counts as the whole
  ///     limit. Below one is a programming error and traps.
  ///   - body: What to run.
  /// - Returns: What the body returns.
  /// - Throws: What the body throws, `CancellationError`, or ``NestedPermitError``.
  /// - Complexity: O(log *n*), where *n* wait.
  @inlinable public func withPermit<Success>(
    for key: Key, priority: TaskPriority? = nil, weight: Int = 1,
    _ body: () async throws -> Success
  ) async throws -> Success {
    let hold =
      switch try enterOrWait(for: key, priority: priority, weight: weight) {
      case .granted(let hold): hold
      case .waits(let ticket, let priority): try await storage.wait(ticket, since: priority)
      }
    defer { storage.release(hold) }
    return try await HeldPermit.current.withValue(storage.mark(hold), operation: body)
  }

  /// Takes a permit for a key, waiting for it if need be.
  ///
  /// Prefer ``withPermit(for:priority:weight:_:)``. A permit taken here belongs to no task, so
  /// asking for a second while holding it may wait for ever.
  ///
  /// **Cancellation.** A caller that is cancelled while it waits leaves the order and gets a
  /// `CancellationError`, also if it was cancelled before the call and there is room. A permit that
  /// is there is not taken away.
  ///
  /// - Parameters:
  ///   - key: Whose limit the permit falls under.
  ///   - priority: Where to stand in the order; the priority of the current task by default.
  ///   - weight: How many permits to take, all or none; see
  ///     ``withPermit(for:priority:weight:_:)``.
  /// - Returns: The permit, to be released or dropped.
  /// - Throws: `CancellationError`, or ``NestedPermitError`` in the body of a `withPermit`.
  /// - Complexity: O(log *n*), where *n* wait.
  public func acquire(
    for key: Key, priority: TaskPriority? = nil, weight: Int = 1
  ) async throws -> Permit {
    let key = AdmissionKey(key)
    return Permit(
      try await storage.acquire(key: key, priority: priority, weight: weight), of: storage)
  }

  /// Takes a permit for a key if there is one, overtaking nobody.
  ///
  /// It never waits and does not look at cancellation. In the body of a `withPermit` for the same
  /// key it takes a permit that is shared, if ``PermitNesting`` allows that.
  ///
  /// - Parameters:
  ///   - key: Whose limit the permit falls under.
  ///   - weight: How many permits to take, all or none. Below one is a programming error and traps.
  /// - Returns: The permit, to be released or dropped; nil if there is none, if somebody waits whom
  ///   this would overtake, or if nesting is not allowed.
  /// - Complexity: O(1), besides the permits that the caller is inside of.
  public func tryAcquire(for key: Key, weight: Int = 1) -> Permit? {
    guard let hold = storage.tryAcquire(key: AdmissionKey(key), weight: weight) else { return nil }
    return Permit(hold, of: storage)
  }

  @usableFromInline func enterOrWait(
    for key: Key, priority: TaskPriority?, weight: Int
  ) throws -> LimiterStorage.Answer {
    try storage.enterOrWait(key: AdmissionKey(key), priority: priority, weight: weight)
  }

  // MARK: Limits

  /// Changes the limit of all keys together.
  ///
  /// - Parameter limit: The most permits out at once, or zero. A negative number traps.
  /// - Complexity: O(*k*), where *k* keys are in use, besides those who start.
  public func setLimit(_ limit: Int) {
    precondition(limit >= 0, "a limit cannot be negative, but is \(limit)")
    storage.changeRule { $0.setLimit(limit) }
  }

  /// Changes the limit of every key that has none of its own.
  ///
  /// - Parameter limit: The most permits out at once for a key, or zero. A negative number traps.
  /// - Complexity: O(*k*), where *k* keys are in use, besides those who start.
  public func setLimitPerKey(_ limit: Int) {
    precondition(limit >= 0, "a limit for each key cannot be negative, but is \(limit)")
    storage.changeRule { $0.setKeyLimit(limit) }
  }

  /// Gives a key a limit of its own, or takes it away.
  ///
  /// It is remembered until it is taken away, also while nobody uses the key.
  ///
  /// - Parameters:
  ///   - limit: The most permits out at once for the key, or zero; nil for what applies to every
  ///     key. A negative number traps.
  ///   - key: Whose limit it is.
  /// - Complexity: O(log *k*), where *k* keys are in use, besides those who start.
  public func setLimit(_ limit: Int?, for key: Key) {
    if let limit {
      precondition(limit >= 0, "a limit for a key cannot be negative, but is \(limit)")
    }
    let key = AdmissionKey(key)
    storage.changeRule { $0.setLimit(limit, forKey: key) }
  }

  // MARK: Status

  /// What is true of a keyed limiter at one moment.
  public struct Status: Sendable, Hashable {
    /// The most permits out at once, of all keys together.
    public var limit: Int
    /// The most permits out at once for a key without a limit of its own.
    public var limitPerKey: Int
    /// How many permits are out; more than the limit only after it was lowered.
    public var inFlight: Int
    /// How many wait for a permit.
    public var waiting: Int
    /// How many keys have permits out or somebody waiting.
    public var keys: Int
  }

  /// What is true of one key at one moment.
  public struct KeyStatus: Sendable, Hashable {
    /// The most permits out at once for the key.
    public var limit: Int
    /// How many permits are out for the key; more than the limit only after it was lowered.
    public var inFlight: Int
    /// How many wait for a permit for the key.
    public var waiting: Int
  }

  /// What is true now, all of one moment.
  ///
  /// - Complexity: O(1), under a lock.
  public var status: Status {
    storage.read {
      Status(
        limit: $0.limit, limitPerKey: $0.keyLimit, inFlight: $0.inFlight, waiting: $0.waiting,
        keys: $0.keys)
    }
  }

  /// What is true now of one key, all of one moment.
  ///
  /// - Complexity: O(1), under a lock.
  public func status(for key: Key) -> KeyStatus {
    let key = AdmissionKey(key)
    return storage.read { rule in
      let (inFlight, waiting) = rule.counts(ofKey: key)
      return KeyStatus(limit: rule.limit(ofKey: key), inFlight: inFlight, waiting: waiting)
    }
  }
}
