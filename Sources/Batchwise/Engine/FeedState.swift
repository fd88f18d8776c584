// SPDX-License-Identifier: Apache-2.0

/// The rule by which elements reach workers: a pure value whose events return who is to be woken.
///
/// Three kinds of task meet here. The *feeder* reads the source and publishes blocks. The *workers*
/// take the oldest block and claim from it. The *owner* starts workers, never more than there are
/// elements for. Each asks; whoever is told to wait parks, and asks again when woken. So a wake-up
/// is a hint and can be one too many, but never one too few.
struct FeedState<Element: Sendable, Output: Sendable, Failure: Error, Waiter> {
  typealias ElementBlock = Block<Element, Output>

  /// What the asking worker does next.
  enum Work {
    /// Claim from this block until nothing is left in it.
    case block(ElementBlock)
    /// Park, then ask again.
    case wait
    /// Nothing is left, now or later.
    case over
  }

  /// Why a run ended early. The first reason stays.
  enum Ending {
    /// This failure is to be thrown.
    case failed(Failure)
    /// The run was stopped, and nobody wants to be told why.
    case stopped
  }

  private let limits: FeedLimits
  private var outputs: Outputs<Output>?
  private var blocks = Queue<ElementBlock>()
  private var parkedWorkers: [Waiter] = []
  private var parkedFeeder: Waiter?
  private var parkedOwner: Waiter?

  /// Workers started so far; they end only with the run.
  private var workers = 0
  /// Elements for which the owner has yet to start a worker.
  private var vacancies = 0
  /// Elements handed to the workers so far.
  private var published = 0
  /// Elements whose outcome was read; only a bounded window cares.
  private var released = 0
  private var isFinished = false
  private(set) var ending: Ending?

  init(_ limits: FeedLimits, keepsOutputs: Bool) {
    self.limits = limits
    outputs = keepsOutputs ? Outputs() : nil
  }

  /// Whether an element published now would find a worker at once.
  var isHungry: Bool { !parkedWorkers.isEmpty || workers < limits.inFlight }

  // MARK: The feeder

  /// Whether the feeder may read on.
  var room: FeedAnswer {
    if ending != nil { return .over }
    let held = published - released
    return blocks.count < limits.backlog && held < limits.window ? .proceed : .wait
  }

  /// Hands elements to the workers, and returns who is to be woken.
  mutating func publish(_ elements: [Element]) -> [Waiter] {
    precondition(!isFinished, "the source had already ended")
    guard ending == nil, !elements.isEmpty else { return [] }
    let slots = outputs?.reserve(elements.count)
    blocks.append(Block(elements, offset: published, slots: slots))
    published += elements.count

    let woken = min(parkedWorkers.count, elements.count)
    var wakes = Array(parkedWorkers.suffix(woken))
    parkedWorkers.removeLast(woken)
    vacancies += min(elements.count - woken, limits.inFlight - workers - vacancies)
    if vacancies > 0, let owner = parkedOwner.take() { wakes.append(owner) }
    return wakes
  }

  /// Notes that the source has ended, and returns who is to be woken.
  mutating func finish() -> [Waiter] {
    isFinished = true
    return wakeAll()
  }

  /// Parks the feeder, unless it should ask again at once.
  mutating func park(feeder: Waiter) -> Bool {
    guard room == .wait else { return false }
    parkedFeeder = feeder
    return true
  }

  // MARK: The workers

  /// What a worker does next.
  var work: Work {
    if ending != nil { return .over }
    if let block = blocks.first { return .block(block) }
    return isFinished ? .over : .wait
  }

  /// Parks a worker, unless it should ask again at once.
  mutating func park(worker: Waiter) -> Bool {
    guard case .wait = work else { return false }
    parkedWorkers.append(worker)
    return true
  }

  /// Drops the oldest block, whose last element was claimed, and returns who is to be woken.
  mutating func exhaustBlock() -> [Waiter] {
    blocks.popFirst()
    if blocks.isEmpty { vacancies = 0 }
    return wakeFeeder()
  }

  /// Notes that outcomes were read, and returns who is to be woken.
  mutating func release(_ count: Int) -> [Waiter] {
    released += count
    return wakeFeeder()
  }

  // MARK: The owner

  /// Takes on the start of one worker, if one is wanted.
  mutating func hire() -> FeedAnswer {
    if ending != nil || workers == limits.inFlight { return .over }
    guard vacancies > 0 else { return isFinished ? .over : .wait }
    vacancies -= 1
    workers += 1
    return .proceed
  }

  /// Parks the owner, unless it should ask again at once.
  mutating func park(owner: Waiter) -> Bool {
    guard ending == nil, !isFinished, vacancies == 0 else { return false }
    parkedOwner = owner
    return true
  }

  /// Takes the outputs of a run in which nothing was left undone.
  mutating func takeOutputs() -> [Output] {
    outputs?.gather() ?? []
  }

  // MARK: Endings

  /// Ends the run early for a reason that outdoes all later ones, and returns who is to be woken.
  mutating func end(_ reason: Ending) -> [Waiter] {
    guard ending == nil else { return [] }
    ending = reason
    for block in blocks.removeAll() { _ = block.close() }
    return wakeAll()
  }

  /// Ends the run early unless every element has already been claimed, and returns who is to be
  /// woken.
  ///
  /// A run that has nothing left to start is not cut short by being cancelled: what is in flight
  /// sees the cancellation and decides.
  mutating func endUnlessAllClaimed(_ reason: Ending) -> [Waiter] {
    guard ending == nil else { return [] }
    let unclaimed = blocks.removeAll().reduce(0) { $0 + $1.close() }
    return isFinished && unclaimed == 0 ? [] : end(reason)
  }

  private mutating func wakeFeeder() -> [Waiter] {
    guard room != .wait, let feeder = parkedFeeder.take() else { return [] }
    return [feeder]
  }

  private mutating func wakeAll() -> [Waiter] {
    let wakes = parkedWorkers + [parkedFeeder.take(), parkedOwner.take()].compactMap { $0 }
    parkedWorkers.removeAll()
    return wakes
  }
}

/// What a task that asked the feed does next.
enum FeedAnswer: Sendable {
  /// Do it: read the source on, start a worker.
  case proceed
  /// Park, and ask again when woken.
  case wait
  /// There is nothing left to do, now or later.
  case over
}
