// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Synchronization

@testable import Batchwise

extension ConcurrencyLimiter {
  /// Goes on once so many wait; the stepping executor chooses who runs meanwhile.
  func waitUntilWaiting(_ count: Int) async {
    while status.waiting < count { await Task.yield() }
  }

  /// Whether a permit could be had now; it is given back at once.
  func hasPermit(weight: Int = 1) -> Bool {
    guard let permit = tryAcquire(weight: weight) else { return false }
    permit.release()
    return true
  }

  /// Whether nobody holds, nobody waits, and nothing is left of those who did.
  var isQuiet: Bool { storage.isQuiet }
}

extension KeyedLimiter {
  /// Goes on once so many wait; the stepping executor chooses who runs meanwhile.
  func waitUntilWaiting(_ count: Int) async {
    while status.waiting < count { await Task.yield() }
  }

  /// Whether a permit could be had now; it is given back at once.
  func hasPermit(for key: Key, weight: Int = 1) -> Bool {
    guard let permit = tryAcquire(for: key, weight: weight) else { return false }
    permit.release()
    return true
  }

  /// Whether nobody holds, nobody waits, and nothing is left of those who did.
  var isQuiet: Bool { storage.isQuiet && status.keys == 0 }
}

/// What happened, in order.
final class Log<Event: Sendable>: Sendable {
  private let list = Mutex<[Event]>([])

  func add(_ event: Event) { list.withLock { $0.append(event) } }

  var events: [Event] { list.withLock { $0 } }
}

/// Counts permits instead of bodies, for bodies of different weights.
final class PermitProbe: Sendable {
  private let counts = Mutex((now: 0, peak: 0))

  var peak: Int { counts.withLock { $0.peak } }
  var now: Int { counts.withLock { $0.now } }

  func body<Success>(weight: Int = 1, _ body: () async throws -> Success) async rethrows -> Success
  {
    counts.withLock {
      $0.now += weight
      $0.peak = max($0.peak, $0.now)
    }
    defer { counts.withLock { $0.now -= weight } }
    return try await body()
  }
}
