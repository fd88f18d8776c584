// SPDX-License-Identifier: Apache-2.0

/// The rule of who may start next: a pure value behind every limiter and every queue.
///
/// It is generic over what waits: a ticket, a queue's item, a closure, in tests a number. A shell
/// notes an event under its lock, takes out all who may start with `admit`, and starts them when its
/// lock is gone.
///
/// **Order.** Who has the higher priority comes first, and who came first among equals. Nobody
/// overtakes the first in order, even if it needs more room than there is; only those whose key has
/// no room are passed by. A barrier starts when all that came before it is over, and nothing that
/// came after it starts before it is over.
///
/// - Complexity: O(log *n*) for everything, where *n* wait; O(1) if nobody waits. Removing a barrier
///   that waits costs O(*n*).
package struct AdmissionState<Waiter> {
  typealias Lane = AdmissionLane<Waiter>

  /// What was granted, to be given back with `leave`.
  package struct Grant: Sendable {
    /// The lane of its key, if it has one.
    fileprivate let lane: SlabID?
    /// How many permits it holds.
    package let weight: Int
  }

  /// Finds a waiter again.
  package struct ID: Hashable, Sendable {
    fileprivate let lane: SlabID?
    fileprivate let entry: SlabID
  }

  /// Who may start now.
  package typealias Admitted = (waiter: Waiter, grant: Grant, arrival: AdmissionArrival)

  /// How many nanoseconds of waiting outweigh one point of priority; nil if none do.
  private let ageing: Int?
  /// Those without a key.
  private var common = Lane(key: nil, limit: .max)
  private var lanes = Slab<Lane>()
  private var laneOfKey: [AdmissionKey: SlabID] = [:]
  private var keyLimits: [AdmissionKey: Int] = [:]
  /// The lanes of keys that have room and somebody waiting, in the order of their first.
  private var ready = IndexedHeap<AdmissionRank, SlabID>()
  private var rate: RateLimitState?
  private var arrivals = 0
  /// How many have given their permit back for a pause.
  private var pausing = 0
  /// The era of those who come now, and of those in flight.
  private var era = (coming: 0, running: 0)

  /// The most permits out at once; zero lets nobody start.
  package private(set) var limit: Int
  /// The most permits out at once for a key that has no limit of its own.
  package private(set) var keyLimit: Int
  /// How many permits are out.
  package private(set) var inFlight = 0
  /// How many wait.
  package private(set) var waiting = 0
  /// Whether nobody starts until `resume`.
  package private(set) var isPaused = false

  /// Creates a state in which nobody waits.
  ///
  /// - Parameters:
  ///   - limit: The most permits out at once.
  ///   - keyLimit: The most permits out at once for each key.
  ///   - ageing: How long one point of priority is worth waiting; nil for ever.
  ///   - rate: How often somebody starts at most; nil for as often as there is room.
  package init(
    limit: Int, keyLimit: Int = .max, ageing: Duration? = nil, rate: RateLimit? = nil
  ) {
    self.limit = limit
    self.keyLimit = keyLimit
    self.ageing = ageing.map { Int(min(max($0, .zero), .seconds(86_400)) / .nanoseconds(1)) }
    self.rate = rate.map { RateLimitState($0) }
  }

  // MARK: Coming and going

  /// Lets a request start at once, if it overtakes nobody.
  package mutating func enter(_ request: AdmissionRequest, at now: Duration = .zero) -> Grant? {
    guard !isPaused, common.waiting.isEmpty, ready.isEmpty, isEraReached(era.coming),
      !request.isBarrier || waiting == 0 && inFlight == 0 && pausing == 0
    else { return nil }
    era.running = era.coming
    let grant: Grant?
    if let key = request.key {
      let id = lane(of: key)
      grant = lanes[id].flatMap { lane in
        let weight = lane.weight(of: request, limit: limit)
        return lane.waiting.isEmpty && weight <= lane.room ? take(weight, lane: id, at: now) : nil
      }
      freeIfIdle(id)
    } else {
      grant = take(common.weight(of: request, limit: limit), lane: nil, at: now)
    }
    if request.isBarrier, grant != nil {
      era.running = era.coming + 1
      era.coming += 2
    }
    return grant
  }

  /// Notes that somebody has come who may wait later, once or several times.
  package mutating func newArrival(at now: Duration = .zero) -> AdmissionArrival {
    arrivals += 1
    return AdmissionArrival(number: arrivals, time: now)
  }

  /// Lets a waiter wait for its turn; who may start now is asked with `admit`.
  ///
  /// A waiter that comes back with its `arrival` stands before all who came after it first did.
  package mutating func wait(
    _ waiter: Waiter, for request: AdmissionRequest, arrival: AdmissionArrival? = nil,
    at now: Duration = .zero
  ) -> ID {
    if request.isBarrier { era.coming += 1 }
    defer { if request.isBarrier { era.coming += 1 } }
    let entry = Lane.Entry(
      waiter: waiter, request: request, arrival: arrival ?? newArrival(at: now))
    let rank = AdmissionRank(
      era: era.coming, level: level(of: entry), arrival: entry.arrival.number)
    let lane = request.key.map { self.lane(of: $0) }
    let place = update(lane) { $0.waiting.insert(entry, rank: rank) }
    waiting += 1
    refresh(lane)
    return ID(lane: lane, entry: place)
  }

  /// Takes a waiter out that no longer wants to start; nil if it no longer waits.
  package mutating func cancel(_ id: ID) -> Waiter? {
    guard let rank = waiting(in: id.lane)?.rank(of: id.entry),
      let entry = update(id.lane, { $0.waiting.remove(id.entry) })
    else { return nil }
    waiting -= 1
    refresh(id.lane)
    freeIfIdle(id.lane)
    if entry.request.isBarrier { joinEras(around: rank.era) }
    return entry.waiter
  }

  /// Takes out all who wait, those with the same key in their order.
  package mutating func cancelAll() -> [Waiter] {
    var waiters: [Waiter] = []
    for lane in [nil] + laneOfKey.values.map(Optional.some) {
      while let (_, _, entry) = update(lane, { $0.waiting.popFirst() }) {
        waiters.append(entry.waiter)
      }
      refresh(lane)
      freeIfIdle(lane)
    }
    waiting = 0
    // No barrier is left that would keep those who come apart from those in flight.
    era.coming = era.running + (era.running.isMultiple(of: 2) ? 0 : 1)
    return waiters
  }

  /// Gives back what was granted, for a pause in which barriers go on waiting for its holder.
  package mutating func pauseHolder(_ grant: Grant) {
    pausing += 1
    leave(grant)
  }

  /// Notes that the pause of a holder is over, whether it enters again or has ended.
  package mutating func endPause() { pausing -= 1 }

  /// Lets someone go on who gave its permit back for a while.
  ///
  /// It has started long ago, so neither a pause nor the rate nor the order keeps it back, but there must
  /// be room, and no barrier in flight. A limit of zero counts as one: it starts nobody, and what has
  /// started must be able to end.
  package mutating func enterAgain(_ request: AdmissionRequest) -> Grant? {
    let isBarrierRunning = !era.running.isMultiple(of: 2)
    guard inFlight < max(limit, 1), inFlight == 0 || !isBarrierRunning else { return nil }
    let id = request.key.map { lane(of: $0) }
    if let id, let lane = lanes[id], lane.inFlight >= max(lane.limit, 1) { return nil }
    if isBarrierRunning { era.running += 1 }
    inFlight += 1
    if let id {
      lanes.update(id) { $0.inFlight += 1 }
      refresh(id)
    }
    return Grant(lane: id, weight: 1)
  }

  /// Gives back what was granted.
  package mutating func leave(_ grant: Grant) {
    inFlight -= grant.weight
    guard let lane = grant.lane else { return }
    lanes.update(lane) { $0.inFlight -= grant.weight }
    refresh(lane)
    freeIfIdle(lane)
  }

  /// Takes out the next waiter that may start; to be asked after every event until it is nil.
  package mutating func admit(at now: Duration = .zero) -> Admitted? {
    // Mostly nobody waits or there is no room; whose turn it is takes longer to find out.
    guard waiting > 0, room > 0, let first, isItsTurn(first),
      let grant = take(first.weight, lane: first.lane, at: now),
      let (_, _, entry) = update(first.lane, { $0.waiting.popFirst() })
    else { return nil }
    era.running = first.rank.era
    waiting -= 1
    refresh(first.lane)
    return (entry.waiter, grant, entry.arrival)
  }

  // MARK: Changes while it runs

  /// Sets the most permits that are out at once; zero lets nobody start.
  package mutating func setLimit(_ limit: Int) {
    self.limit = limit
    // What a heavy waiter takes depends on the limit, so it may fit now, or no longer.
    for id in laneOfKey.values { refresh(id) }
  }

  /// Sets the most permits that are out at once for each key without a limit of its own.
  package mutating func setKeyLimit(_ limit: Int) {
    keyLimit = limit
    for (key, id) in laneOfKey where keyLimits[key] == nil { setLimit(limit, of: id) }
  }

  /// Gives a key a limit of its own, or with nil takes it away.
  package mutating func setLimit(_ limit: Int?, forKey key: AdmissionKey) {
    keyLimits[key] = limit
    if let id = laneOfKey[key] { setLimit(limit ?? keyLimit, of: id) }
  }

  /// Lets nobody start until `resume`.
  package mutating func pause() { isPaused = true }

  /// Lets waiters start again.
  package mutating func resume() { isPaused = false }

  /// Changes how often somebody starts at most; what was started counts by the new rate.
  package mutating func setRate(_ rate: RateLimit?, at now: Duration) {
    if let rate, self.rate != nil {
      self.rate?.setLimit(rate, at: now)
    } else {
      self.rate = rate.map { RateLimitState($0) }
    }
  }

  /// Moves a waiter to where its new priority belongs.
  package mutating func setPriority(_ priority: Int, of id: ID) {
    guard var entry = waiting(in: id.lane)?[id.entry],
      var rank = waiting(in: id.lane)?.rank(of: id.entry)
    else { return }
    entry.request.priority = priority
    rank.level = level(of: entry)
    update(id.lane) { $0.waiting.setRank(rank, of: id.entry) }
    refresh(id.lane)
  }

  // MARK: What an observer asks

  /// Whether a grant falls under the limit of a key; under none, if the key is nil.
  package func isGrant(_ grant: Grant, of key: AdmissionKey?) -> Bool {
    guard let key else { return grant.lane == nil }
    return grant.lane != nil && grant.lane == laneOfKey[key]
  }

  /// How many permits are out for a key, and how many wait for it.
  package func counts(ofKey key: AdmissionKey) -> (inFlight: Int, waiting: Int) {
    guard let id = laneOfKey[key], let lane = lanes[id] else { return (0, 0) }
    return (lane.inFlight, lane.waiting.count)
  }

  /// The most permits out at once for a key.
  package func limit(ofKey key: AdmissionKey) -> Int { keyLimits[key] ?? keyLimit }

  /// How many keys are known; those with nothing in flight and nobody waiting are forgotten.
  package var keys: Int { laneOfKey.count }

  /// When the rate lets the next one start, if it is the rate that keeps it from starting.
  package func nextStart(at now: Duration) -> Duration? {
    guard let rate, let first, isItsTurn(first) else { return nil }
    return rate.earliest(at: now)
  }

  /// What keeps a waiter from starting; nil if it does not wait.
  package func hindrance(of id: ID, at now: Duration = .zero) -> AdmissionHindrance? {
    guard let rank = waiting(in: id.lane)?.rank(of: id.entry) else { return nil }
    if isPaused { return .paused }
    if !isEraReached(rank.era) { return .barrier }
    if let lane = id.lane.flatMap({ lanes[$0] }), lane.ready == nil { return .key }
    return nextStart(at: now).map { .rate(until: $0) } ?? .limit
  }

  // MARK: Whose turn it is

  /// The first in order of those whose key has room.
  private var first: (lane: SlabID?, rank: AdmissionRank, weight: Int)? {
    let commonRank = common.waiting.firstRank
    if let (_, rank, id) = ready.first, commonRank.map({ rank < $0 }) ?? true {
      let limit = limit
      return (id, rank, lanes.read(id) { $0.weightOfFirst(limit: limit) } ?? 1)
    }
    return commonRank.map { (nil, $0, common.weightOfFirst(limit: limit)) }
  }

  /// Whether nothing but the rate can keep the first from starting.
  private func isItsTurn(_ first: (lane: SlabID?, rank: AdmissionRank, weight: Int)) -> Bool {
    !isPaused && first.weight <= room && isEraReached(first.rank.era)
  }

  /// Whether all are over that a barrier keeps apart from those of this era.
  private func isEraReached(_ era: Int) -> Bool {
    if era == self.era.running { return true }
    guard inFlight == 0, pausing == 0,
      common.waiting.firstRank.map({ $0.era >= era }) ?? true
    else { return false }
    return !lanes.entries.contains { lane in
      lane.value.waiting.firstRank.map { $0.era < era } ?? false
    }
  }

  /// Makes one era of those before and after a barrier that will not come.
  private mutating func joinEras(around barrier: Int) {
    era.coming -= 2
    for lane in [nil] + laneOfKey.values.map(Optional.some) {
      update(lane) { lane in
        lane.waiting.setRanks { entry in
          var rank = entry.rank
          if rank.era > barrier { rank.era -= 2 }
          return rank
        }
      }
      refresh(lane)
    }
  }

  private func level(of entry: Lane.Entry) -> Int {
    guard let ageing else { return -entry.request.priority }
    return Int(entry.arrival.time / .nanoseconds(1)) - entry.request.priority * ageing
  }

  // MARK: Permits and lanes

  private var room: Int { limit - inFlight }

  /// Takes permits, all or none, and a token of the rate.
  private mutating func take(_ weight: Int, lane: SlabID?, at now: Duration) -> Grant? {
    guard weight <= room, rate?.take(at: now) ?? .taken == .taken else { return nil }
    inFlight += weight
    if let lane { lanes.update(lane) { $0.inFlight += weight } }
    return Grant(lane: lane, weight: weight)
  }

  private func waiting(in lane: SlabID?) -> Lane.Waiting? {
    guard let lane else { return common.waiting }
    return lanes[lane]?.waiting
  }

  private mutating func update<Result>(
    _ lane: SlabID?, _ change: (inout Lane) -> Result
  ) -> Result {
    if let lane { return lanes.update(lane, change) }
    return change(&common)
  }

  private mutating func lane(of key: AdmissionKey) -> SlabID {
    if let id = laneOfKey[key] { return id }
    let id = lanes.insert(Lane(key: key, limit: limit(ofKey: key)))
    laneOfKey[key] = id
    return id
  }

  private mutating func setLimit(_ limit: Int, of id: SlabID) {
    lanes.update(id) { $0.limit = limit }
    refresh(id)
  }

  /// Puts a lane among those that can go on, where its first belongs, or takes it away.
  private mutating func refresh(_ id: SlabID?) {
    guard let id else { return }
    let limit = limit
    let (place, rank) = lanes.update(id) { ($0.ready, $0.firstWithRoom(limit: limit)) }
    switch (place, rank) {
    case (nil, nil): break
    case (let place?, let rank?): ready.setRank(rank, of: place)
    case (nil, let rank?):
      let place = ready.insert(id, rank: rank)
      lanes.update(id) { $0.ready = place }
    case (let place?, nil):
      _ = ready.remove(place)
      lanes.update(id) { $0.ready = nil }
    }
  }

  private mutating func freeIfIdle(_ id: SlabID?) {
    guard let id, let lane = lanes[id], let key = lane.key, lane.isIdle else { return }
    _ = lanes.remove(id)
    laneOfKey[key] = nil
    if laneOfKey.isEmpty, laneOfKey.capacity > 64 { laneOfKey = [:] }
  }
}
