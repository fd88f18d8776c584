// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Lets only as many attempts be repeated as a share of those that succeed.
///
///     let budget = RetryBudget(percent: 10, reserve: 20)
///     try await withRetry(policy, budget: budget) { _ in try await load(url) }
///
/// When everything fails, every caller's retries multiply the load of a service that is in trouble
/// already. Share one budget among all calls to it: while most succeed nobody notices it, and in an
/// outage the load stays near what it was. `withRetry` draws on it by itself; the methods are for
/// code that tries again in its own way.
public final class RetryBudget: Sendable {
  private let state: Mutex<RetryBudgetState>

  /// Creates a budget with a full reserve.
  ///
  /// - Parameters:
  ///   - percent: How many retries a hundred successes pay for; a negative number traps.
  ///   - reserve: How many retries can be saved up, and are there at first; a negative number
  ///     traps.
  public init(percent: Int, reserve: Int) {
    state = Mutex(RetryBudgetState(percent: percent, reserve: reserve))
  }

  /// How many retries are paid for now.
  ///
  /// - Complexity: O(1), under a lock.
  public var available: Int { state.withLock { $0.available } }

  /// Notes that something succeeded.
  ///
  /// - Complexity: O(1), under a lock.
  public func recordSuccess() {
    state.withLock { $0.recordSuccess() }
  }

  /// Pays for a retry, if there is enough.
  ///
  /// - Returns: Whether it was paid for; if not, do not retry.
  /// - Complexity: O(1), under a lock.
  public func payForRetry() -> Bool {
    state.withLock { $0.payForRetry() }
  }
}

/// A balance that successes fill and retries draw on, in hundredths of a retry.
struct RetryBudgetState: Sendable {
  private static let price = 100

  private let percent: Int
  private let most: Int
  private var balance: Int

  init(percent: Int, reserve: Int) {
    precondition(percent >= 0, "a share of \(percent) percent")
    precondition(reserve >= 0, "a reserve of \(reserve) retries")
    self.percent = percent
    let (most, isTooMuch) = reserve.multipliedReportingOverflow(by: Self.price)
    self.most = isTooMuch ? .max : most
    balance = self.most
  }

  var available: Int { balance / Self.price }

  mutating func recordSuccess() {
    balance = most - balance > percent ? balance + percent : most
  }

  mutating func payForRetry() -> Bool {
    guard balance >= Self.price else { return false }
    balance -= Self.price
    return true
  }
}
