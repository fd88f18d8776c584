// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

extension Sequence where Element: Sendable {
  /// Transforms every element on Dispatch's threads, and blocks until all are done.
  ///
  ///     let sizes = try files.concurrentPerformMap(limit: 4) { try size(of: $0) }
  ///
  /// For code that is not asynchronous. The calling thread takes part in the work. Asynchronous
  /// code cannot call it, since it would block a thread that others need; it has `concurrentMap`.
  ///
  /// The results are in source order, and there is one for every element. The first failure in time
  /// ends the call: no further element is started, those in flight end, and the error is thrown.
  /// The sequence is read by the calling thread, to its end, before the first transformation.
  ///
  /// - Parameters:
  ///   - limit: The most transformations in flight at once; there are never more than the machine
  ///     has processors. A limit below one is a programming error and traps.
  ///   - transform: Called once for every element, from any thread. It may block.
  /// - Returns: The transformed elements, in source order.
  /// - Throws: The first failure of a transformation.
  /// - Complexity: O(*n*) calls of `transform`, and memory for *n* elements and results.
  @available(*, noasync, message: "It blocks its thread. Use concurrentMap(limit:_:) instead.")
  public func concurrentPerformMap<Output: Sendable, Failure: Error>(
    limit: Int, _ transform: @escaping @Sendable (Element) throws(Failure) -> Output
  ) throws(Failure) -> [Output] {
    precondition(limit >= 1, "a limit must be at least 1, but is \(limit)")
    let elements = Array(self)
    let run = PerformRun<Output, Failure>(count: elements.count)
    DispatchQueue.concurrentPerform(iterations: Swift.min(limit, elements.count)) { _ in
      while let index = run.claim() {
        do throws(Failure) {
          run.keep(try transform(elements[index]), at: index)
        } catch {
          run.fail(error)
        }
      }
    }
    return try run.outputs()
  }
}

/// What the threads of one call share.
///
/// `@unchecked Sendable` holds because each slot is written by the one thread that has claimed its
/// index, and read when all threads are done.
private final class PerformRun<Output, Failure: Error>: @unchecked Sendable {
  private let count: Int
  private let slots: UnsafeMutablePointer<Output?>
  private let next = Atomic<Int>(0)
  private let failure = Mutex<Failure?>(nil)

  init(count: Int) {
    self.count = count
    slots = .allocate(capacity: count)
    slots.initialize(repeating: nil, count: count)
  }

  deinit {
    slots.deinitialize(count: count)
    slots.deallocate()
  }

  /// The index of the next element; nil when there is none, or after a failure.
  func claim() -> Int? {
    let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
    return index < count ? index : nil
  }

  func keep(_ output: Output, at index: Int) { slots[index] = output }

  func fail(_ error: Failure) {
    // Far above every index, and far below the point where further claims could wrap around.
    next.store(.max / 2, ordering: .relaxed)
    failure.withLock { if $0 == nil { $0 = error } }
  }

  func outputs() throws(Failure) -> [Output] {
    if let error = failure.withLock({ $0 }) { throw error }
    return (0..<count).compactMap { slots[$0] }
  }
}
