// SPDX-License-Identifier: Apache-2.0

/// Where a waiter stands in the order.
package struct AdmissionRank: Comparable, Sendable {
  /// How many barriers came before, twice; and the barrier itself is odd.
  var era: Int
  /// The lower one comes first.
  var level: Int
  /// When it came, counted.
  let arrival: Int

  package static func < (one: AdmissionRank, other: AdmissionRank) -> Bool {
    if one.era != other.era { return one.era < other.era }
    if one.level != other.level { return one.level < other.level }
    return one.arrival < other.arrival
  }
}

/// A waiter's place among those who came, which it keeps when it comes back.
package struct AdmissionArrival: Sendable {
  let number: Int
  let time: Duration
}

/// All that fall under the limit of the same key, or all that fall under none.
struct AdmissionLane<Waiter> {
  typealias Waiting = IndexedHeap<AdmissionRank, Entry>

  /// A waiter, and what it waits for.
  struct Entry {
    let waiter: Waiter
    var request: AdmissionRequest
    /// When it came; for those that come back, when they came first.
    let arrival: AdmissionArrival
  }

  let key: AdmissionKey?
  var limit: Int
  var inFlight = 0
  var waiting = Waiting()
  /// Its place among the lanes that could go on; nil while it has nobody waiting, or no room.
  var ready: SlabID?

  /// How many permits of the lane are left.
  var room: Int { limit - inFlight }

  /// Whether nobody has to do with it.
  var isIdle: Bool { inFlight == 0 && waiting.isEmpty }

  /// How many permits a request takes.
  ///
  /// More than a limit counts as the whole limit, so that it waits for all others and not for ever.
  func weight(of request: AdmissionRequest, limit total: Int) -> Int {
    max(1, min(request.weight, total, limit))
  }

  /// How many permits the first in the lane takes.
  func weightOfFirst(limit total: Int) -> Int {
    waiting.readFirst { weight(of: $0.request, limit: total) } ?? 1
  }

  /// The rank of the first, if the lane has room for it.
  func firstWithRoom(limit total: Int) -> AdmissionRank? {
    waiting.firstRank.flatMap { weightOfFirst(limit: total) <= room ? $0 : nil }
  }
}
