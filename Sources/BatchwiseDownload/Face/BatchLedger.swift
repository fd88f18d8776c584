// SPDX-License-Identifier: Apache-2.0

/// Which requests of a batch are on their way, and whom each of their outcomes belongs to.
///
/// Requests get places in the order of the list, and equal ones that meet are one item of the run. A
/// value between the run, which knows items by their numbers, and an outlet, which knows places.
struct BatchLedger<Value: BatchValue> {
  /// A request and its place.
  struct Place: Sendable {
    let offset: Int
    let item: WorkItem
  }

  private struct Open {
    let identity: RequestIdentity
    var places: [Place]
  }

  /// How much is remembered of what is over.
  enum Memory {
    case nothing
    case latest(Int)
    case all
  }

  private let memory: Memory
  private var offset = 0
  private var lastID = 0
  /// Items that have been handed out and have not ended, by their numbers.
  private var open: [Int: Open] = [:]
  /// The item on its way that all requests equal to it belong to.
  private var leaders: [RequestIdentity: Int] = [:]
  private var over: [RequestIdentity: Result<Value, DownloadFailure>] = [:]
  /// The identities of those that are over, the oldest from `firstOver` on.
  private var order: [RequestIdentity] = []
  private var firstOver = 0

  init(remembering memory: Memory) { self.memory = memory }

  /// How many requests have a place.
  var count: Int { offset }

  /// Gives a request its place.
  ///
  /// - Returns: The item to hand out, if it is one; the outcome, if that is known.
  mutating func register(
    _ item: WorkItem
  ) -> (item: WorkItem?, outcome: (Place, Result<Value, DownloadFailure>)?) {
    let place = Place(offset: offset, item: item)
    let identity = Value.identity(of: item)
    offset += 1
    if !Value.runKnowsDuplicates {
      if let leader = leaders[identity] {
        open[leader]?.places.append(place)
        return (nil, nil)
      }
      if let result = over[identity] { return (nil, (place, result)) }
    }
    lastID += 1
    open[lastID] = Open(identity: identity, places: [place])
    if leaders[identity] == nil, over[identity] == nil { leaders[identity] = lastID }
    guard !Value.runKnowsDuplicates else { return (item, nil) }
    // By its number it has a name that nothing else has, so the run never thinks of it as a duplicate.
    var item = item
    item.name = "\(lastID)"
    return (item, nil)
  }

  /// An item has ended, and all requests that it stands for with it.
  mutating func end(_ id: Int, _ result: Result<Value, DownloadFailure>) -> [Place] {
    guard let item = open.removeValue(forKey: id) else { return [] }
    if leaders[item.identity] == id {
      leaders[item.identity] = nil
      remember(result, of: item.identity)
    }
    return item.places
  }

  /// The run says that an item is one that was there before.
  ///
  /// - Returns: The outcome, unless it is still to come or nobody remembers it.
  mutating func duplicate(_ id: Int) -> ([Place], Result<Value, DownloadFailure>?) {
    guard let item = open.removeValue(forKey: id) else { return ([], nil) }
    if let leader = leaders[item.identity], leader != id {
      open[leader]?.places += item.places
      return ([], nil)
    }
    if leaders[item.identity] == id { leaders[item.identity] = nil }
    return (item.places, over[item.identity])
  }

  private mutating func remember(
    _ result: Result<Value, DownloadFailure>, of identity: RequestIdentity
  ) {
    switch memory {
    case .nothing: return
    case .all: over[identity] = result
    case .latest(let count):
      over[identity] = result
      order.append(identity)
      guard order.count - firstOver > count else { return }
      over[order[firstOver]] = nil
      firstOver += 1
      if firstOver > count {
        order.removeFirst(firstOver)
        firstOver = 0
      }
    }
  }
}
