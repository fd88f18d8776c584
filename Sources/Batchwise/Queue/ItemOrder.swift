// SPDX-License-Identifier: Apache-2.0

/// Items in an order that they only ever join at the end, from which most are soon gone.
///
/// Who goes is not taken out but skipped, so that leaving costs nothing; when most have gone, those who
/// are left are put together.
struct ItemOrder {
  private var ids: [SlabID] = []
  private var start = 0

  /// How many are kept, gone ones among them.
  var count: Int { ids.count - start }

  /// All that are kept, gone ones among them.
  var all: [SlabID] { Array(ids[start...]) }

  /// Adds one at the end.
  mutating func append(_ id: SlabID) { ids.append(id) }

  /// The first that is still there; those before it are forgotten.
  mutating func first(where isThere: (SlabID) -> Bool) -> SlabID? {
    while start < ids.count {
      if isThere(ids[start]) { return ids[start] }
      start += 1
    }
    removeAll()
    return nil
  }

  /// The last that is still there; those behind it are forgotten.
  mutating func last(where isThere: (SlabID) -> Bool) -> SlabID? {
    while ids.count > start, let last = ids.last {
      if isThere(last) { return last }
      ids.removeLast()
    }
    removeAll()
    return nil
  }

  /// Forgets all that have gone, if so many have that it is worth it.
  mutating func compact(to expected: Int, where isThere: (SlabID) -> Bool) {
    guard ids.count > 2 * expected + 64 else { return }
    ids = ids[start...].filter(isThere)
    start = 0
  }

  private mutating func removeAll() {
    ids.removeAll(keepingCapacity: ids.capacity <= 64)
    start = 0
  }
}
