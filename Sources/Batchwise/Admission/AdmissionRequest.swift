// SPDX-License-Identifier: Apache-2.0

/// What a waiter asks for.
package struct AdmissionRequest: Sendable {
  /// The higher one comes first.
  package var priority: Int
  /// How many permits it takes, all at once; more than the limit counts as the whole limit.
  package var weight: Int
  /// Whose limit it also falls under.
  package var key: AdmissionKey?
  /// Whether it runs alone.
  package var isBarrier: Bool

  /// Describes a request; by default the plainest.
  package init(
    priority: Int = 0, weight: Int = 1, key: AdmissionKey? = nil, isBarrier: Bool = false
  ) {
    self.priority = priority
    self.weight = weight
    self.key = key
    self.isBarrier = isBarrier
  }
}

/// What keeps a waiter from starting.
package enum AdmissionHindrance: Hashable, Sendable {
  case paused
  case barrier
  case key
  case limit
  case rate(until: Duration)
}

/// A key of any type, in a box.
///
/// With the key's type as a parameter, the rule would be compiled for each kind of key, or run
/// unspecialised in everybody's way.
///
/// `@unchecked Sendable` holds because it is only made of what is Sendable; `AnyHashable` forgets it.
package final class AdmissionKey: Hashable, @unchecked Sendable {
  private let key: AnyHashable

  /// Erases the type of a key.
  package init(_ key: some Hashable & Sendable) { self.key = AnyHashable(key) }

  package static func == (one: AdmissionKey, other: AdmissionKey) -> Bool {
    one === other || one.key == other.key
  }

  package func hash(into hasher: inout Hasher) { key.hash(into: &hasher) }
}
