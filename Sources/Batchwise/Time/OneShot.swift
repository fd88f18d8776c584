// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A value that is given once, by whoever comes first, and waited for by one task.
package final class OneShot<Value: Sendable>: Sendable {
  private enum State {
    case empty
    case waiting(CheckedContinuation<Value, Never>)
    case given(Value)
  }

  private let state = Mutex(State.empty)

  /// Creates a value that nobody has given.
  package init() {}

  /// Gives the value, unless somebody has.
  ///
  /// - Returns: Whether nobody had.
  @discardableResult
  package func give(_ value: Value) -> Bool {
    let (isFirst, waiter) = state.withLock { state in
      switch state {
      case .given: return (false, CheckedContinuation<Value, Never>?.none)
      case .empty:
        state = .given(value)
        return (true, nil)
      case .waiting(let waiter):
        state = .given(value)
        return (true, waiter)
      }
    }
    waiter?.resume(returning: value)
    return isFirst
  }

  /// Waits until the value is given, deaf to cancellation.
  package var value: Value {
    get async {
      if case .given(let value) = state.withLock({ $0 }) { return value }
      return await withCheckedContinuation { continuation in
        let given = state.withLock { state -> Value? in
          if case .given(let value) = state { return value }
          state = .waiting(continuation)
          return nil
        }
        if let given { continuation.resume(returning: given) }
      }
    }
  }
}
