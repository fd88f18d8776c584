// SPDX-License-Identifier: Apache-2.0

internal import Batchwise
internal import Synchronization

/// An item of a bounded queue, as its state sees it.
struct BoundedDispatchJob: Sendable {
  /// What to do, and how its end is known.
  enum Action: Sendable {
    /// It has ended when it returns.
    case work(@Sendable () -> Void)
    /// It has ended when what it is given is called.
    case start(@Sendable (_ end: @escaping @Sendable () -> Void) -> Void)
  }

  let action: Action
  /// Called when it has ended and its place is given on.
  let onEnd: (@Sendable () -> Void)?
  /// Called if it will never start.
  let onDrop: (@Sendable (BoundedDispatchError) -> Void)?

  init(
    _ action: Action, onEnd: (@Sendable () -> Void)? = nil,
    onDrop: (@Sendable (BoundedDispatchError) -> Void)? = nil
  ) {
    self.action = action
    self.onEnd = onEnd
    self.onDrop = onDrop
  }
}

/// What a bounded queue and its items share: a lock around the state, and the place where items run.
final class BoundedDispatchCore: Sendable {
  typealias State = BoundedDispatchState<BoundedDispatchJob, @Sendable () -> Void>

  private let state: Mutex<State>
  private let submit: @Sendable (@escaping @Sendable () -> Void) -> Void
  private let label: String
  /// Whether others run where the items do, and are to have their turn between any two of them.
  private let isShared: Bool
  private let onMisuse: (@Sendable (BoundedDispatchError) -> Void)?

  /// `submit` sees to it that a block is run soon, at the same time as others, and not before it
  /// returns.
  init(
    label: String, limit: Int, isShared: Bool,
    onMisuse: (@Sendable (BoundedDispatchError) -> Void)?,
    submit: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) {
    precondition(limit >= 0, "a limit cannot be negative, but is \(limit)")
    state = Mutex(State(limit: limit))
    self.label = label
    self.isShared = isShared
    self.submit = submit
    self.onMisuse = onMisuse
  }

  var status: BoundedDispatchQueue.Status { state.withLock { $0.status } }

  func add(_ job: BoundedDispatchJob) {
    note { $0.add(job) }
  }

  /// Notes an event, and does what follows from it.
  func note(_ event: @Sendable (inout State) -> State.Effects) {
    perform(state.withLock { event(&$0) })
  }

  /// Drops all items that wait.
  func cancelWaiting() {
    let (jobs, effects) = state.withLock { $0.takeWaiting() }
    for job in jobs { job.onDrop?(BoundedDispatchError(.dropped, label: label)) }
    perform(effects)
  }

  /// Notes that nobody can resume the queue or raise its limit any more.
  func release() {
    let status = status
    if status.isSuspended || status.limit == 0 { cancelWaiting() }
  }

  /// Tells of a programming error.
  func tellMisuse(_ code: BoundedDispatchError.Code) -> BoundedDispatchError {
    let error = BoundedDispatchError(code, label: label)
    guard let onMisuse else { preconditionFailure(error.description) }
    onMisuse(error)
    return error
  }

  private func perform(_ effects: State.Effects) {
    for (job, grant) in effects.starts { start(job, grant) }
    for notification in effects.notifications { notification() }
  }

  private func start(_ job: BoundedDispatchJob, _ grant: State.Grant) {
    submit { [self] in run(job, grant) }
  }

  /// Runs a job, and after it those whose place it leaves, one after the other and not inside it.
  private func run(_ job: BoundedDispatchJob, _ grant: State.Grant) {
    var (job, grant) = (job, grant)
    while true {
      switch job.action {
      case .start(let start):
        return start { [self, grant] in note { $0.end(grant) } }
      case .work(let work):
        work()
        var effects = state.withLock { $0.end(grant) }
        let next = effects.starts.isEmpty ? nil : effects.starts.removeFirst()
        job.onEnd?()
        perform(effects)
        guard let next else { return }
        if isShared { return start(next.job, next.grant) }
        (job, grant) = next
      }
    }
  }
}
