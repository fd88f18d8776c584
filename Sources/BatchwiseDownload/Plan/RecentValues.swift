// SPDX-License-Identifier: Apache-2.0

/// Remembers the last 65,536 values that it had not remembered before.
struct RecentValues<Value: Hashable> {
  /// How many are remembered.
  static var capacity: Int { 65_536 }

  private var values: Set<Value> = []
  private var order: [Value] = []
  private var oldest = 0

  /// Remembers the value, and returns whether it was not remembered yet.
  @discardableResult
  mutating func insert(_ value: Value) -> Bool {
    guard values.insert(value).inserted else { return false }
    if order.count < Self.capacity {
      order.append(value)
    } else {
      values.remove(order[oldest])
      order[oldest] = value
      oldest = (oldest + 1) % Self.capacity
    }
    return true
  }

  /// Whether the value is remembered.
  func contains(_ value: Value) -> Bool { values.contains(value) }
}
