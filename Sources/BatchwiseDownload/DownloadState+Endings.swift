// SPDX-License-Identifier: Apache-2.0

internal import Batchwise

extension DownloadState {
  /// How a transfer in flight ended.
  enum Outcome: Sendable {
    /// The file is whole; without it here, its bytes are still being looked at.
    case whole(WholeFile?)
    /// The server says that the previous file is still the one.
    case notModified
    /// It goes on at another origin.
    case redirected(Route)
    /// It failed, and perhaps left something to go on from.
    case failed(DownloadFailure, resume: ResumePoint?)
    /// It was cancelled, and is left to the next run.
    case left(resume: ResumePoint?)
  }
}

/// What follows from the end of a transfer: a permit is free, the pace of its host may change, and the
/// item settles, is tried again, or has failed.
extension DownloadState {
  /// A transfer in flight has ended.
  ///
  /// Its permit is free from now on; the name of a whole file is kept until ``settled(_:_:at:)``.
  mutating func ended(_ id: Int, _ outcome: Outcome, at moment: Moment) {
    guard var job = jobs[id], let grant = job.grant.take() else { return }
    jobs[id]?.grant = nil
    let inFlight = (all: status.inFlight, ofHost: release(grant, of: job, outcome, at: moment.time))
    switch outcome {
    case .whole(let file):
      status.settling += 1
      if let file { news.append(.whole(file)) }
    case .notModified:
      jobs[id] = nil
      release(job.path, at: moment.time)
      if job.resume != nil { news.append(.restored(job.remains)) }
      skip(id, job.item, .unchanged, file: job.previous?.path, moment)
    case .redirected(let route):
      job.route = route
      if ending == nil, !job.isAbandoned {
        wait(job, at: moment.time)
      } else {
        leave(job, moment)
      }
    case .failed(let failure, let resume):
      job.resume = resume ?? job.resume
      decide(job, failure, inFlight, moment)
    case .left(let resume):
      job.resume = resume ?? job.resume
      leave(job, moment)
    }
  }

  /// The bytes of a whole file have been looked at: they are right, or it is worth nothing.
  mutating func judged(_ id: Int, _ file: Result<WholeFile, DownloadFailure>, at moment: Moment) {
    switch file {
    case .success(let file): news.append(.whole(file))
    case .failure(let failure):
      guard let job = jobs[id] else { return }
      status.settling -= 1
      decide(job, failure, (status.inFlight, 0), moment)
    }
  }

  /// A file has its final name, or has got none.
  mutating func settled(_ id: Int, _ settlement: Settlement, at moment: Moment) {
    guard let job = jobs.removeValue(forKey: id) else { return }
    status.settling -= 1
    release(job.path, at: moment.time)
    switch settlement {
    case .done(let file):
      status.done += 1
      status.bytes += file.bytes
    case .skipped: status.skipped += 1
    case .failed(let failure) where failure.remedy == .moreRoom:
      status.left += 1
      jobs[id] = job  // The run is not over before it has stopped.
      stop(.diskFull, at: moment)
      jobs[id] = nil
    case .failed: status.failed += 1
    case .left: status.left += 1
    }
  }

  /// Gives a path back, and lets the next item go on that is to overwrite it.
  mutating func release(_ path: OutputPath, at now: Duration) {
    names.release(path)
    guard !behind.isEmpty, var jobs = behind.removeValue(forKey: path.collisionKey) else { return }
    let next = jobs.removeFirst()
    if !jobs.isEmpty { behind[path.collisionKey] = jobs }
    _ = names.claim(for: next.item, options.collisions)
    status.waiting -= 1
    wait(next, at: now)
  }

  /// Gives a permit back and tells the pace of an ending; returns how many were in flight to the host.
  private mutating func release(
    _ grant: NumberedAdmission.Grant, of job: DownloadJob, _ outcome: Outcome, at now: Duration
  ) -> Int {
    let ending: LimitSample.Ending =
      switch outcome {
      case .whole, .notModified: .success(now - (job.began?.latest ?? now))
      case .failed(let failure, _) where failure.meansTooMuch: .dropped
      case .failed, .redirected, .left: .ignored
      }
    if rule != nil {
      rule?.record(LimitSample(ending, inFlight: status.inFlight))
      setLimit(rule?.limit ?? status.limit)
    }
    admission.leave(grant)
    status.inFlight -= 1
    return update(job.address.origin, at: now) { host in
      defer { host.inFlight -= 1 }
      if case .success = ending { host.pace.answered(at: now, inFlight: host.inFlight) }
      return host.inFlight
    }
  }

  /// Decides whether a failed attempt is repeated, and when.
  private mutating func decide(
    _ job: DownloadJob, _ failure: DownloadFailure, _ inFlight: (all: Int, ofHost: Int),
    _ moment: Moment
  ) {
    var job = job
    let now = moment.time
    var hostPause: Duration?
    switch failure.remedy {
    case .moreRoom:
      stop(.diskFull, at: moment)
      return leave(job, moment)
    case .oneMoreAttempt where job.hadOneMore:
      return fail(job, failure, moment)
    case .oneMoreAttempt: job.hadOneMore = true
    case .fewerAtOnce where inFlight.all > 1 || status.settling > 0:
      // What has begun proves that so many can be borne, and no more. It was no attempt.
      setLimit(max(1, min(status.limit, inFlight.all - 1)))
      job.attempts -= 1
    case .leavingHostAlone(let hint):
      // Whatever becomes of this item, the host has asked for it.
      hostPause = leaveAlone(job, failure, hint, inFlight: inFlight.ofHost, at: now)
      if hostPause == nil { return fail(job, failure, moment) }
    case .none, .anotherAttempt, .fewerAtOnce: break
    }
    let backoff = retryPolicy.pause(
      after: failure, failures: job.attempts, elapsed: now - (job.began?.first ?? now),
      using: &generator)
    guard let backoff else { return fail(job, failure, moment) }
    guard ending == nil, !job.isAbandoned else { return leave(job, moment) }
    let pause =
      switch failure.remedy {
      case .fewerAtOnce where inFlight.all > 1: Duration.zero
      // Those that wait for their names are open, too, and soon closed.
      case .fewerAtOnce where status.settling > 0: Duration.milliseconds(20)
      default: hostPause ?? backoff
      }
    note(.retry(attempt: job.attempts + 1, failure, delay: pause), job.id, job.item, moment)
    job.route = Route()
    // A host that is left alone keeps all its items waiting by itself.
    if pause <= .zero || hostPause != nil { return wait(job, at: now) }
    job.isPausing = true
    jobs[job.id] = job
    status.waiting += 1
    update(job.address.origin, at: now) { $0.delayed += 1 }
    insert(.job(job.id), at: now + pause)
  }

  /// Leaves a host alone that has refused an item, and returns for how long; nil if it asks for longer
  /// than is waited.
  private mutating func leaveAlone(
    _ job: DownloadJob, _ failure: DownloadFailure, _ hint: Duration?, inFlight: Int,
    at now: Duration
  ) -> Duration? {
    let origin = job.address.origin
    if let hint, hint > options.longestPause {
      update(origin, at: now) { $0.refusal = (failure, now + hint) }
      return nil
    }
    let start = job.began?.latest ?? now
    let limit = options.limitPerHost
    var generator = self.generator
    let pause = update(origin, at: now) { host in
      host.pace.refused(
        hint, of: start, at: now, inFlight: inFlight, limit: limit, using: &generator)
    }
    self.generator = generator
    insert(.host(origin), at: now + pause)
    return pause
  }
}

extension DownloadFailure {
  /// Whether it tells that so many at once were too many.
  fileprivate var meansTooMuch: Bool {
    switch remedy {
    case .leavingHostAlone: true
    case .anotherAttempt: reason == .timeout
    default: false
    }
  }
}
