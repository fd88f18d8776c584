// SPDX-License-Identifier: Apache-2.0

/// The rule by which elements reach workers: a pure value whose events return who is to be woken.
///
/// Three kinds of task meet here. The *feeder* reads the source and fills blocks. The *workers*
/// claim from the oldest block. The *owner* starts workers, never more than there are elements for.
/// Each asks; whoever is told to wait parks, and asks again when woken. So a wake-up is a hint that
/// can be one too many, but never one too few.
///
/// Appending and claiming pass by this state, for they are the hot path. It looks at the blocks'
/// numbers instead, and says in `hints` when it wants to hear of them.
struct FeedState<Waiter> {
  /// When those who pass by are to come in.
  struct Hints: Equatable {
    /// Whether a worker could be woken for an element that is ready.
    var canWake: Bool
    /// Whether a worker could be started for an element that is ready.
    var canHire: Bool
    /// The offset from which on the feeder waits for elements to be claimed, and for nothing else.
    var roomOffset: Int
    /// Whether the feeder waits for an outcome to be read.
    var awaitsRelease: Bool
  }

  private let limits: FeedLimits
  /// The most elements that wait for a worker, for now.
  private var backlog: Int
  /// The blocks in which something may be unclaimed, oldest first.
  private var blocks: [BlockNumbers] = []
  /// The block that was added last.
  private var lastBlock: BlockNumbers?

  private var parkedWorkers: [Waiter] = []
  private var parkedFeeder: Waiter?
  private var isFeederBack = false
  /// Whether the parked feeder has no room in the window, so that outcomes have to be read first.
  private var isWindowShut = false
  private var parkedOwner: Waiter?

  /// Workers hired so far; they end only with the run.
  private var workers = 0
  /// Workers that were hired, or woken, and have not yet arrived.
  private var hired = 0
  private var woken = 0
  /// Elements whose outcome was read, when the feeder last asked or was last thought of.
  private var released = 0
  private var isFinished = false
  private var isEnded = false

  init(_ limits: FeedLimits) {
    self.limits = limits
    backlog = limits.backlog.lowerBound
  }

  /// How many elements have been appended.
  var published: Int { lastBlock.map { $0.offset + $0.count } ?? 0 }
  private var unclaimed: Int { blocks.reduce(0) { $0 + $1.unclaimed } }

  /// When those who append and claim are to come in.
  ///
  /// At most one worker is woken at a time. When it arrives and finds more than it can take, it
  /// summons the next: a burst of short elements is then done before many threads are disturbed.
  var hints: Hints {
    Hints(
      canWake: !isEnded && !parkedWorkers.isEmpty && woken == 0,
      canHire: !isEnded && workers < limits.inFlight,
      roomOffset: parkedFeeder == nil || isWindowShut ? .max : published - backlog / 2 - 1,
      awaitsRelease: isWindowShut && parkedFeeder != nil)
  }

  // MARK: The feeder

  /// How many elements the feeder may append now, of which so many outcomes in all were read.
  ///
  /// If everything was claimed before a woken feeder came back, the work is too short for this
  /// backlog, and it is doubled. While the work takes its time, few elements are read ahead.
  mutating func askRoom(released: Int) -> FeedAnswer<Int> {
    self.released = released
    if isFeederBack, unclaimed == 0 {
      backlog = min(backlog * 2, limits.backlog.upperBound)
    }
    isFeederBack = false
    return room
  }

  /// The feeder waits until half the backlog is claimed, so that it is not woken for every element.
  private var room: FeedAnswer<Int> {
    if isEnded { return .over }
    let waiting = unclaimed
    let space = min(backlog - waiting, limits.window - (published - released))
    return waiting <= backlog / 2 && space > 0 ? .proceed(space) : .wait
  }

  /// Parks the feeder, unless it should ask again at once.
  mutating func park(feeder: Waiter, released: Int) -> Bool {
    self.released = released
    guard case .wait = room else { return false }
    parkedFeeder = feeder
    isWindowShut = published - released >= limits.window
    isFeederBack = true
    return true
  }

  /// Adds a block behind all others, or closes it if the run has ended.
  ///
  /// - Returns: The block before it. As in `dropBlock`, it is to be let go of outside the lock.
  mutating func add(_ block: BlockNumbers) -> BlockNumbers? {
    precondition(block.offset == published, "blocks have no gaps between them")
    defer { lastBlock = block }
    if isEnded { _ = block.close() } else { blocks.append(block) }
    return lastBlock
  }

  /// Sees to it that ready elements find workers, and returns who is to be woken.
  mutating func summon() -> [Waiter] {
    guard !isEnded, unclaimed > 0 else { return [] }
    var wakes: [Waiter] = []
    if woken == 0, let worker = parkedWorkers.popLast() {
      woken += 1
      wakes.append(worker)
    }
    if isHiring, let owner = parkedOwner.take() { wakes.append(owner) }
    return wakes
  }

  /// Notes that the source has ended, and returns who is to be woken.
  mutating func finish() -> [Waiter] {
    isFinished = true
    return wakeAll()
  }

  // MARK: The workers

  /// Notes that a worker, hired or woken, has arrived.
  mutating func arrive(wasParked: Bool) {
    if wasParked { woken -= 1 } else { hired -= 1 }
  }

  /// The block from which a worker claims, until nothing is ready in it.
  var work: FeedAnswer<BlockNumbers> {
    if isEnded { return .over }
    if let block = blocks.first(where: { $0.unclaimed > 0 }) { return .proceed(block) }
    return isFinished ? .over : .wait
  }

  /// Parks a worker, unless it should ask again at once.
  mutating func park(worker: Waiter) -> Bool {
    guard case .wait = work else { return false }
    parkedWorkers.append(worker)
    return true
  }

  /// Notes that an element was claimed, and returns the feeder if it is to be woken.
  mutating func noteClaim() -> Waiter? {
    wakeFeeder()
  }

  /// Drops the oldest block, whose last element was claimed, and returns it.
  ///
  /// It is to be let go of outside the lock, for that may run a `deinit` of the user.
  mutating func dropBlock() -> BlockNumbers? {
    blocks.isEmpty ? nil : blocks.removeFirst()
  }

  /// Notes how many outcomes in all were read, and returns the feeder if it is to be woken.
  ///
  /// If it is not, then it waits for elements to be claimed, and need not hear of this again.
  mutating func release(released: Int) -> Waiter? {
    self.released = released
    isWindowShut = published - released >= limits.window
    return wakeFeeder()
  }

  // MARK: The owner

  /// Whether more elements are ready than there are workers idle or on their way.
  private var isHiring: Bool {
    workers < min(limits.inFlight, published)
      && unclaimed > hired + woken + parkedWorkers.count
  }

  /// Takes on the start of one worker, if one is wanted.
  mutating func hire() -> FeedAnswer<Void> {
    if isEnded || workers == limits.inFlight { return .over }
    guard isHiring else { return isFinished ? .over : .wait }
    workers += 1
    hired += 1
    return .proceed(())
  }

  /// Parks the owner, unless it should ask again at once.
  mutating func park(owner: Waiter) -> Bool {
    guard !isEnded, !isFinished, workers < limits.inFlight, !isHiring else { return false }
    parkedOwner = owner
    return true
  }

  // MARK: Endings

  /// Ends the run early and returns who is to be woken; nil if it had already ended early.
  mutating func end() -> [Waiter]? {
    guard !isEnded else { return nil }
    isEnded = true
    _ = closeBlocks()
    return wakeAll()
  }

  /// Ends the run early, unless every element of the source has already been claimed.
  ///
  /// A run that has nothing left to start is not cut short by being cancelled: what is in flight
  /// sees the cancellation and decides.
  mutating func endUnlessAllClaimed() -> [Waiter]? {
    guard !isEnded else { return nil }
    return closeBlocks() == 0 && isFinished ? nil : end()
  }

  /// Makes all claims fail, and returns how many elements were unclaimed.
  private func closeBlocks() -> Int {
    blocks.reduce(0) { $0 + $1.close() }
  }

  private mutating func wakeFeeder() -> Waiter? {
    guard parkedFeeder != nil else { return nil }
    if case .wait = room { return nil }
    return parkedFeeder.take()
  }

  private mutating func wakeAll() -> [Waiter] {
    let wakes = parkedWorkers + [parkedFeeder.take(), parkedOwner.take()].compactMap { $0 }
    woken += parkedWorkers.count
    parkedWorkers.removeAll()
    return wakes
  }
}

/// What a task that asked the feed does next.
enum FeedAnswer<Work: Sendable>: Sendable {
  /// Do this, then ask again.
  case proceed(Work)
  /// Park, and ask again when woken.
  case wait
  /// There is nothing left to do, now or later.
  case over
}
