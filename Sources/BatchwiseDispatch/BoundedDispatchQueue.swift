// SPDX-License-Identifier: Apache-2.0

public import Dispatch
internal import Synchronization

/// A queue for Dispatch code that has at most `limit` items in flight.
///
///     let queue = BoundedDispatchQueue(label: "pictures", limit: 3)
///     for url in urls {
///       queue.async { done in client.load(url) { _ in done() } }
///     }
///     queue.notify(queue: .main) { showThatAllIsDone() }
///
/// An item is synchronous work, in flight while it runs, or work that calls back, in flight until
/// its completion is called. Items may block their thread. One that waits occupies none.
///
/// **Order.** Items start in the order of the calls of `async`.
///
/// **Cancellation.** Dispatch code has no tasks. ``cancelWaiting()`` drops what waits, and what is
/// in flight goes on.
///
/// **Lifetime.** A queue that nobody holds any more still runs what it has taken in. If it was
/// suspended, or its limit was zero, nobody can change that, so what waits fails with
/// ``BoundedDispatchError/Code/dropped``.
public final class BoundedDispatchQueue: Sendable {
  private let core: BoundedDispatchCore

  /// Creates a queue.
  ///
  /// - Parameters:
  ///   - label: What to call it, in errors and to debuggers.
  ///   - limit: The most items in flight at once; zero starts none until it is changed. A negative
  ///     number is a programming error and traps.
  ///   - qos: The quality of service of its items.
  ///   - target: Where the items run in the end; nil for the system's choice. A serial queue runs
  ///     one at a time, whatever the limit. Others there have their turn between any two items.
  ///   - onMisuse: Called when a completion is called twice or is let go of without a call, by the
  ///     thread that did it; nil to trap.
  public convenience init(
    label: String, limit: Int, qos: DispatchQoS = .unspecified, target: DispatchQueue? = nil,
    onMisuse: (@Sendable (BoundedDispatchError) -> Void)? = nil
  ) {
    let queue = DispatchQueue(label: label, qos: qos, attributes: .concurrent, target: target)
    self.init(
      BoundedDispatchCore(label: label, limit: limit, isShared: target != nil, onMisuse: onMisuse) {
        block in
        queue.async(execute: block)
      })
  }

  /// Creates a queue around a core, whose blocks may go where a test takes every one of them itself.
  init(_ core: BoundedDispatchCore) { self.core = core }

  deinit { core.release() }

  // MARK: Adding

  /// Adds work that is in flight while it runs.
  ///
  /// If it is dropped before it begins, nobody is told; use
  /// ``async(execute:completionQueue:completion:)`` to be told.
  ///
  /// - Parameter work: What to do; it may block its thread.
  /// - Complexity: O(log *n*), where *n* wait.
  public func async(execute work: @escaping @Sendable () -> Void) {
    core.add(BoundedDispatchJob(.work(work)))
  }

  /// Adds work that is in flight while it runs, and tells how it ended, once.
  ///
  /// - Parameters:
  ///   - work: What to do; it may block its thread.
  ///   - completionQueue: Where to call the completion.
  ///   - completion: Called exactly once: with what the work returned or threw, or with a
  ///     ``BoundedDispatchError`` if the work never began. The item's place is given on before.
  /// - Complexity: O(log *n*), where *n* wait.
  public func async<Value: Sendable>(
    execute work: @escaping @Sendable () throws -> Value, completionQueue: DispatchQueue,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    add(work: work) { result in completionQueue.async { completion(result) } }
  }

  /// Adds work that is in flight until its completion is called.
  ///
  /// - Parameter start: Begins the work, and sees to it that `done` is called once, from anywhere,
  ///   also before it returns.
  /// - Complexity: O(log *n*), where *n* wait.
  public func async(start: @escaping @Sendable (_ done: Completion<Void>) -> Void) {
    add(start: start) { _ in }
  }

  /// Adds work that is in flight until its completion is called, and tells how it ended, once.
  ///
  /// - Parameters:
  ///   - start: Begins the work, and sees to it that `done` is called once, from anywhere.
  ///   - completionQueue: Where to call the completion.
  ///   - completion: Called exactly once: with what `done` was given, or with a
  ///     ``BoundedDispatchError`` if the work never began or `done` was never called. The item's
  ///     place is given on before.
  /// - Complexity: O(log *n*), where *n* wait.
  public func async<Value: Sendable>(
    start: @escaping @Sendable (_ done: Completion<Value>) -> Void, completionQueue: DispatchQueue,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    add(start: start) { result in completionQueue.async { completion(result) } }
  }

  /// Adds work that is in flight while it runs, and tells at once how it ended.
  func add<Value: Sendable>(
    work: @escaping @Sendable () throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    let ending = Ending(completion)
    core.add(
      BoundedDispatchJob(
        .work { ending.result = Result { try work() } },
        onEnd: { ending.tell() }, onDrop: { completion(.failure($0)) }))
  }

  /// Adds work that is in flight until its completion is called, and tells at once how it ended.
  func add<Value: Sendable>(
    start: @escaping @Sendable (Completion<Value>) -> Void,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    core.add(
      BoundedDispatchJob(
        .start { [core] end in start(Completion(core: core, end: end, tell: completion)) },
        onDrop: { completion(.failure($0)) }))
  }

  // MARK: Changes while it runs

  /// Calls a block once, when nothing waits and nothing is in flight; now, if that is so.
  ///
  /// - Parameters:
  ///   - queue: Where to call it.
  ///   - block: What to call.
  /// - Complexity: O(1), besides those who are called.
  public func notify(queue: DispatchQueue, execute block: @escaping @Sendable () -> Void) {
    notify { queue.async(execute: block) }
  }

  /// Calls a block once, when nothing waits and nothing is in flight, where that becomes so.
  func notify(_ block: @escaping @Sendable () -> Void) {
    core.note { $0.notify(block) }
  }

  /// Starts nothing more until it is resumed as often; what is in flight goes on.
  ///
  /// - Complexity: O(1).
  public func suspend() {
    core.note { state in
      state.suspend()
      return BoundedDispatchCore.State.Effects()
    }
  }

  /// Takes back one ``suspend()``; one too many is a programming error and traps.
  ///
  /// - Complexity: O(1), besides O(log *n*) for each of those that start, where *n* wait.
  public func resume() {
    core.note { $0.resume() }
  }

  /// Changes the limit: lowering it interrupts nothing, raising it starts items at once.
  ///
  /// - Parameter limit: The most items in flight at once, or zero to start none. A negative number
  ///   traps.
  /// - Complexity: O(1), besides O(log *n*) for each of those that start, where *n* wait.
  public func setLimit(_ limit: Int) {
    precondition(limit >= 0, "a limit cannot be negative, but is \(limit)")
    core.note { $0.setLimit(limit) }
  }

  /// Drops all items that wait; they fail with ``BoundedDispatchError/Code/dropped``.
  ///
  /// What is in flight goes on. More can be added.
  ///
  /// - Complexity: O(*n* log *n*), where *n* wait.
  public func cancelWaiting() {
    core.cancelWaiting()
  }

  /// What is true of a queue at one moment.
  public struct Status: Sendable, Hashable {
    /// The most items in flight at once.
    public var limit: Int
    /// How many items have started and not ended.
    public var inFlight: Int
    /// How many items wait.
    public var waiting: Int
    /// Whether nothing starts until it is resumed.
    public var isSuspended: Bool
  }

  /// What is true now, all of one moment.
  ///
  /// - Complexity: O(1), under a lock.
  public var status: Status { core.status }

  /// A result on its way from the work to its completion.
  ///
  /// `@unchecked Sendable` holds because the work writes before it ends and the completion reads
  /// after.
  private final class Ending<Value: Sendable>: @unchecked Sendable {
    var result: Result<Value, any Error>?
    private let completion: @Sendable (Result<Value, any Error>) -> Void

    init(_ completion: @escaping @Sendable (Result<Value, any Error>) -> Void) {
      self.completion = completion
    }

    func tell() {
      if let result { completion(result) }
    }
  }
}
