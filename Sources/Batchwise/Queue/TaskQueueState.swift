// SPDX-License-Identifier: Apache-2.0

/// What a task queue has accepted, what of it is in flight, and who waits for what: a pure value.
///
/// Every event is followed by `settle`, which lets start what may start and returns all that is to be
/// done when the lock is gone. It is generic over the jobs and over those who wait.
struct TaskQueueState<Job, Waiter> {
  typealias ItemID = SlabID

  typealias TicketID = Tickets<Waiter, Bool, Void>.ID

  private var admission: AdmissionState<ItemID>
  private let capacity: Int
  private let overflow: TaskQueueBacklog.Overflow
  private var items = Slab<Item>()
  private var deadlines = IndexedHeap<Duration, ItemID>()
  private var tickets = Tickets<Waiter, Bool, Void>()
  private var conditions: [(ticket: TicketID, condition: TaskQueueCondition)] = []
  /// Those offered, those that wait and those in flight, each in the order in which they became so.
  private var offered = ItemOrder()
  private var offeredCount = 0
  private var waiting = ItemOrder()
  private var inFlight = ItemOrder()
  /// Items that want their place again, first come, first served.
  private var returning: [(item: ItemID, ticket: TicketID)] = []
  private var effects = Effects()
  private var armedFor: Duration?
  private var counts = TaskQueueCounts()
  private var waitTimes = DurationHistogram()
  private var runTimes = DurationHistogram()
  private var isFinished = false
  /// Whether it was stopped before it was over.
  private(set) var isStopped = false

  /// Counts the events, so that an observer sees whether something has changed.
  private(set) var version = 0

  init(limit: Int, options: TaskQueueOptions) {
    admission = AdmissionState(
      limit: limit, keyLimit: options.limitPerKey, ageing: options.ageing, rate: options.rate)
    capacity = options.backlog.capacity
    overflow = options.backlog.overflow
  }

  // MARK: Items

  /// Takes an item in, or refuses it.
  mutating func add(_ job: Job, _ options: TaskQueueItemOptions, at now: Duration) -> ItemID {
    let id = items.insert(Item(job: job, options: options, addedAt: now))
    guard !isFinished else {
      refuse(id, .finished)
      return id
    }
    if let timeout = options.timeout, timeout <= .zero {
      refuse(id, .timedOut)
      return id
    }
    while !accept(id, at: now) {
      guard let victim = victim() else {
        refuse(id, .full)
        break
      }
      takeOut(victim, .dropped)
    }
    return id
  }

  /// Offers an item, which is taken in as soon as there is room in the backlog.
  mutating func offer(
    _ job: Job, _ options: TaskQueueItemOptions, at now: Duration
  ) -> (id: ItemID, ticket: TicketID) {
    let id = items.insert(Item(job: job, options: options, addedAt: now))
    let ticket = tickets.issue()
    let deadline = options.waitTimeout.map { deadlines.insert(id, rank: now + $0) }
    items.update(id) { item in
      item.phase = .offered(ticket)
      item.deadline = deadline
    }
    offered.append(id)
    offeredCount += 1
    if isFinished {
      takeOut(id, .finished)
    } else if let timeout = options.timeout, timeout <= .zero {
      takeOut(id, .timedOut)
    }
    return (id, ticket)
  }

  /// Notes that the operation of an item is over, and tells whether its timeout was before.
  mutating func stopTimeout(of id: ItemID) -> Bool {
    guard let item = items[id] else { return false }
    if let deadline = item.deadline { _ = deadlines.remove(deadline) }
    items.update(id) { $0.deadline = nil }
    return item.isOverdue
  }

  /// Notes that an item in flight has ended.
  mutating func end(_ id: ItemID, _ outcome: TaskQueueOutcome, at now: Duration) {
    guard let item = items.remove(id), let start = item.startedAt else { return }
    switch item.phase {
    case .inFlight(let grant, _)?: admission.leave(grant)
    case .lent(_, isPause: true, _)?: admission.endPause()
    case .lent?, .waiting?, .offered?, nil: break
    }
    if let deadline = item.deadline { _ = deadlines.remove(deadline) }
    if item.isOverdue { counts.overdue -= 1 }
    counts.note(outcome)
    runTimes.record(now - start)
    inFlight.compact(to: admission.inFlight) { [items] in items.contains($0) }
  }

  /// Cancels an item, whether it waits or is in flight.
  mutating func cancel(_ id: ItemID) {
    switch items[id]?.phase {
    case .inFlight?, .lent?: if let item = items[id] { effects.cancellations.append(item.job) }
    case .offered?, .waiting?: takeOut(id, .cancelled)
    case nil: break
    }
  }

  /// Takes an offered item back, unless it was taken in.
  mutating func withdraw(_ id: ItemID) {
    if items[id]?.isOffered ?? false { takeOut(id, .cancelled) }
  }

  /// Cancels all items, whether they wait or are in flight.
  mutating func cancelAll() {
    dropWaiting(.cancelled)
    for (id, _) in Array(items.entries) { cancel(id) }
  }

  /// Changes the priority of an item that waits.
  mutating func setPriority(_ priority: Int, of id: ItemID) {
    guard items.contains(id) else { return }
    items.update(id) { $0.options.priority = priority }
    if case .waiting(let place)? = items[id]?.phase { admission.setPriority(priority, of: place) }
  }

  /// Lets others have an item's place while it waits, for another item or for time to pass.
  ///
  /// Otherwise it could wait for itself, also for one that has started: that one may have lent its own
  /// place, and want one to go on. It is asked with all items that the caller is inside of, and
  /// returns the one that has given its place, if any.
  ///
  /// A pause is part of the item's work: a barrier goes on waiting for it, and one that pauses itself
  /// keeps its place. An item that waits for others cannot ask that of a barrier, which may be one of them.
  mutating func lend(
    from holders: [ItemID], for awaited: ItemID?, isPause: Bool
  ) -> ItemID? {
    guard awaited.map({ items.contains($0) }) ?? true,
      let lender = holders.first(where: { items[$0]?.startedAt != nil }), lender != awaited
    else { return nil }
    switch items[lender]?.phase {
    case .inFlight(let grant, let start)?:
      if isPause, items[lender]?.options.isBarrier ?? false { return nil }
      if isPause { admission.pauseHolder(grant) } else { admission.leave(grant) }
      items.update(lender) { $0.phase = .lent(waits: 1, isPause: isPause, since: start) }
    case .lent(let waits, let isPause, let start)?:
      items.update(lender) { $0.phase = .lent(waits: waits + 1, isPause: isPause, since: start) }
    case .offered?, .waiting?, nil: return nil
    }
    return lender
  }

  /// Takes a ticket for the item's return to a place, now that its waiting is over.
  mutating func takeBack(_ id: ItemID) -> TicketID {
    let ticket = tickets.issue()
    if case .lent(let waits, let isPause, let start)? = items[id]?.phase, waits > 1 {
      items.update(id) { $0.phase = .lent(waits: waits - 1, isPause: isPause, since: start) }
      decide(ticket, true)
    } else {
      returning.append((id, ticket))
    }
    return ticket
  }

  // MARK: The whole queue

  mutating func setLimit(_ limit: Int) { admission.setLimit(limit) }
  mutating func setLimitPerKey(_ limit: Int) { admission.setKeyLimit(limit) }
  mutating func setRate(_ rate: RateLimit?, at now: Duration) { admission.setRate(rate, at: now) }
  /// Drops what waits if nothing will ever start, for nobody is left who could change that.
  mutating func abandon() {
    if admission.isPaused || admission.limit == 0 { dropWaiting(.dropped) }
  }

  mutating func pause() { admission.pause() }
  mutating func resume() { admission.resume() }

  /// Takes in nothing more, and drops what waits if asked to.
  mutating func finish(droppingWaiting: Bool) {
    isFinished = true
    for id in offered.all { takeOut(id, .finished) }
    if droppingWaiting { dropWaiting(.dropped) }
  }

  /// Takes in nothing more, and cancels all items.
  mutating func stop() {
    isStopped = isStopped || !isOver
    finish(droppingWaiting: false)
    cancelAll()
  }

  /// Takes a ticket for a condition, which may hold already.
  ///
  /// To wait is no event: nothing changes by it, so nothing has to settle.
  mutating func wait(for condition: TaskQueueCondition) -> TicketID {
    let ticket = tickets.issue()
    if holds(condition) {
      _ = tickets.decide(ticket, true)
    } else {
      conditions.append((ticket, condition))
    }
    return ticket
  }

  /// Suspends the holder of a ticket, unless it is decided already.
  mutating func suspend(_ ticket: TicketID, _ waiter: Waiter) -> Bool? {
    tickets.suspend(ticket, waiter)
  }

  /// Notes that the holder of a ticket no longer waits, and returns who is to be woken.
  mutating func cancelWait(_ ticket: TicketID) -> Waiter? {
    conditions.removeAll { $0.ticket == ticket }
    return tickets.decide(ticket, false)
  }

  /// Notes that it is time to look at the deadlines.
  mutating func wake(at now: Duration) {
    armedFor = nil
    while let first = deadlines.first, first.rank <= now {
      _ = deadlines.popFirst()
      guard let item = items[first.value] else { continue }
      items.update(first.value) { $0.deadline = nil }
      if item.startedAt != nil {
        items.update(first.value) { $0.isOverdue = true }
        counts.overdue += 1
        effects.cancellations.append(item.job)
      } else {
        takeOut(first.value, .waitedTooLong)
      }
    }
  }

  /// Lets start what may start, and returns all that is to be done.
  mutating func settle(at now: Duration) -> Effects {
    version += 1
    letReturn()
    repeat {
      while let admitted = admission.admit(at: now) {
        start(admitted.waiter, admitted.grant, at: now)
      }
    } while acceptOffers(at: now)
    checkConditions()
    arm(deadlines.first?.rank)
    arm(admission.nextStart(at: now))
    effects.isOver = isOver
    defer { effects = Effects() }
    return effects
  }

  // MARK: What an observer asks

  /// Whether nothing is left and nothing will come.
  var isOver: Bool { items.count == 0 && isFinished }

  /// Whether an item is there and its priority is lower.
  func isBelow(_ priority: Int, _ id: ItemID) -> Bool {
    items[id].map { $0.options.priority < priority } ?? false
  }

  /// Where an item is; nil if it is over.
  func state(of id: ItemID, at now: Duration) -> TaskQueueItemState? {
    switch items[id]?.phase {
    case .offered?: .waiting(.backlog)
    case .waiting(let place)?:
      admission.hindrance(of: place, at: now).map { .waiting(TaskQueueHindrance($0, at: now)) }
    case .inFlight?, .lent?: .inFlight
    case nil: nil
    }
  }

  /// All numbers, of one moment.
  mutating func status(at now: Duration) -> TaskQueueStatus {
    let longestWaiting = waiting.first { [items] in items[$0]?.isWaiting ?? false }
    let longestInFlight = inFlight.first { [items] in items.contains($0) }
    return TaskQueueStatus(
      limit: admission.limit, inFlight: admission.inFlight, waiting: admission.waiting,
      offered: offeredCount,
      lending: items.count - admission.inFlight - admission.waiting - offeredCount,
      isPaused: admission.isPaused,
      isFinished: isFinished, counts: counts,
      longestWait: longestWaiting.flatMap { items[$0]?.addedAt }.map { now - $0 },
      longestRun: longestInFlight.flatMap { items[$0]?.startedAt }.map { now - $0 },
      waitTimes: waitTimes.summary, runTimes: runTimes.summary)
  }

  /// All items that are not over, in the order of `add`.
  func snapshot(at now: Duration) -> [TaskQueueItemStatus] {
    items.entries.sorted { $0.id.number < $1.id.number }.compactMap { id, item in
      state(of: id, at: now).map {
        TaskQueueItemStatus(
          id: item.options.number, name: item.options.name,
          priority: TaskPriority(rawValue: UInt8(clamping: item.options.priority)), state: $0,
          age: now - (item.startedAt ?? item.addedAt), isOverdue: item.isOverdue)
      }
    }
  }

  // MARK: The parts

  /// Asks to be woken at a moment, unless that is asked already for an earlier one.
  private mutating func arm(_ moment: Duration?) {
    guard let moment, armedFor.map({ moment < $0 }) ?? true else { return }
    armedFor = moment
    effects.wakeUp = moment
  }

  /// Starts an item, or lets it wait; false if the backlog is full.
  private mutating func accept(_ id: ItemID, at now: Duration) -> Bool {
    guard let request = items[id]?.request else { return true }
    if let grant = admission.enter(request, at: now) {
      start(id, grant, at: now)
      return true
    }
    guard admission.waiting < capacity else { return false }
    let place = admission.wait(id, for: request, at: now)
    if items[id]?.deadline == nil, let timeout = items[id]?.options.waitTimeout {
      let deadline = deadlines.insert(id, rank: now + timeout)
      items.update(id) { $0.deadline = deadline }
    }
    items.update(id) { $0.phase = .waiting(place) }
    waiting.append(id)
    return true
  }

  /// Gives items their place again that have lent it; they come before all who have not started.
  private mutating func letReturn() {
    guard !returning.isEmpty else { return }
    // One whose key has no room does not hold back the others.
    let candidates = returning
    returning = candidates.filter { candidate in
      guard let item = items[candidate.item],
        case .lent(_, let isPause, let start)? = item.phase
      else { return false }
      guard let grant = admission.enterAgain(item.request) else { return true }
      if isPause { admission.endPause() }
      items.update(candidate.item) { $0.phase = .inFlight(grant, since: start) }
      return false
    }
    let left = Set(returning.map(\.ticket))
    for (_, ticket) in candidates where !left.contains(ticket) { decide(ticket, true) }
  }

  private mutating func acceptOffers(at now: Duration) -> Bool {
    var hasAccepted = false
    while let id = offered.first(where: { [items] in items[$0]?.isOffered ?? false }),
      case .offered(let ticket)? = items[id]?.phase, accept(id, at: now)
    {
      offeredCount -= 1
      decide(ticket, true)
      hasAccepted = true
    }
    return hasAccepted
  }

  private mutating func start(
    _ id: ItemID, _ grant: AdmissionState<ItemID>.Grant, at now: Duration
  ) {
    guard let item = items[id] else { return }
    if let deadline = item.deadline { _ = deadlines.remove(deadline) }
    let deadline = item.options.timeout.map { deadlines.insert(id, rank: now + $0) }
    items.update(id) { item in
      item.phase = .inFlight(grant, since: now)
      item.deadline = deadline
    }
    inFlight.append(id)
    waitTimes.record(now - item.addedAt)
    if effects.firstStart == nil {
      effects.firstStart = (item.job, id)
    } else {
      effects.furtherStarts.append((item.job, id))
    }
  }

  /// Who gives place to a new item when the backlog is full.
  private mutating func victim() -> ItemID? {
    switch overflow.kind {
    case .refuse: nil
    case .dropOldest: waiting.first { [items] in items[$0]?.isWaiting ?? false }
    case .dropNewest: waiting.last { [items] in items[$0]?.isWaiting ?? false }
    }
  }

  /// Takes an item out that has not started.
  private mutating func takeOut(_ id: ItemID, _ reason: TaskQueueRefusal) {
    switch items[id]?.phase {
    case .offered(let ticket)?:
      offeredCount -= 1
      decide(ticket, false)
    case .waiting(let place)?: _ = admission.cancel(place)
    case .inFlight?, .lent?, nil: return
    }
    refuse(id, reason)
  }

  private mutating func refuse(_ id: ItemID, _ reason: TaskQueueRefusal) {
    guard let item = items.remove(id) else { return }
    if let deadline = item.deadline { _ = deadlines.remove(deadline) }
    counts.note(reason == .cancelled ? .cancelled : .refused)
    effects.refusals.append((item.job, reason))
    waiting.compact(to: admission.waiting) { [items] in items[$0]?.isWaiting ?? false }
  }

  private mutating func dropWaiting(_ reason: TaskQueueRefusal) {
    for id in offered.all { takeOut(id, reason) }
    waiting = ItemOrder()
    for id in admission.cancelAll() { refuse(id, reason) }
  }

  private mutating func decide(_ ticket: TicketID, _ isReached: Bool) {
    if let waiter = tickets.decide(ticket, isReached) { effects.woken.append((waiter, isReached)) }
  }

  private mutating func checkConditions() {
    guard !conditions.isEmpty else { return }
    let reached = conditions.filter { holds($0.condition) }
    guard !reached.isEmpty else { return }
    conditions.removeAll { [self] in holds($0.condition) }
    for (ticket, _) in reached { decide(ticket, true) }
  }

  private func holds(_ condition: TaskQueueCondition) -> Bool {
    switch condition {
    case .idle: items.count == 0
    case .over: isOver
    case .backlog(let limit): admission.waiting < limit
    case .nothingInFlight: admission.inFlight == 0
    case .change(let version): self.version > version
    }
  }
}
