// SPDX-License-Identifier: Apache-2.0

internal import Batchwise

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// What a run knows and decides: who may start, which name it may use, what is tried again and when,
/// when the run is over.
///
/// It starts nothing, calls nobody and has no clock. Its shell, ``DownloadRun``, changes it under
/// a lock and acts on ``admit(at:)`` and ``takeNews()`` after the lock is gone.
///
/// An item that is read waits in the lane of its host, is in flight while a transfer of it is under
/// way, and is settling from the end of its transfer until its file has its name. Between two
/// attempts it pauses, and holds no permit.
struct DownloadState {
  /// How many items that could start are read ahead of those in flight.
  static let window = 512
  /// How many items are held at most that have been read and are not in flight.
  static let mostHeld = 4096
  /// How much news may gather for the sink before nothing more is started.
  static let newsWindow = 2048
  /// How many files may wait for their final names before nothing more is started, if as many can be
  /// open.
  static let mostSettling = 512

  /// A moment, as a run's clock tells it and as a calendar does.
  struct Moment: Sendable {
    var time: Duration
    var date: Date
  }

  enum Wake {
    case job(Int)
    case host(String)
  }

  let options: DownloadOptions
  private let mostSettling: Int
  let retryPolicy: RetryPolicy
  var generator: any RandomNumberGenerator & Sendable

  var status: DownloadStatus
  private(set) var ending: DownloadReport.Ending?
  var news: [DownloadNews] = []

  var admission: NumberedAdmission
  var hosts = HostTable()
  private var wakes = IndexedHeap<Duration, Wake>()
  /// When the earliest pause is over.
  private var firstWake: Duration?
  /// What finds the limit over all, if it is to be found.
  var rule: AIMDLimit?
  /// All items that wait, pause, are in flight or are settling.
  var jobs: [Int: DownloadJob] = [:]
  var names = NameClaims()
  /// Items that are to overwrite what an item in flight is writing, and wait for its end.
  var behind: [CollisionKey: [DownloadJob]] = [:]
  private var recent = RecentValues<ItemKey>()
  private var lastID = 0
  /// Items that nobody wants any more, and that have been taken from the list and not yet been added.
  private var abandonedBefore: Set<Int> = []

  init(
    options: DownloadOptions, openFiles: Int = .max,
    generator: some RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
  ) {
    self.options = options
    mostSettling = max(1, min(Self.mostSettling, openFiles / 4))
    self.generator = generator
    retryPolicy = options.retryPolicy
    rule =
      options.findsLimit
      ? AIMDLimit(initial: min(8, options.limit), within: 1...options.limit) : nil
    let limit = rule?.limit ?? options.limit
    status = DownloadStatus(limit: limit)
    admission = NumberedAdmission(
      limit: limit, keyLimit: options.limitPerHost, rate: options.rate)
  }

  /// Whether nothing is in flight, nothing waits or settles, and nothing more will come.
  var isOver: Bool { jobs.isEmpty && (status.isListRead || ending != nil) }

  /// Whether the sink has something to receive, or nothing to wait for any more.
  var hasNews: Bool { !news.isEmpty || isOver }

  /// How many more items should be read now; 0 until half of the window is free.
  ///
  /// Items that their host keeps waiting do not fill the window, up to a number for each host and in
  /// all, so that the others can go on.
  var room: Int {
    let isWanted = ending == nil && !status.isListRead && news.count < Self.newsWindow
    let free = min(Self.window - hosts.ready, Self.mostHeld - status.waiting)
    return isWanted && !hosts.isFull && free >= Self.window / 2 ? free : 0
  }

  /// When time alone will change something: a pause is over, or the rate lets the next one start.
  func nextWake(at now: Duration) -> Duration? {
    let next = isHeldBack ? nil : admission.nextStart(at: now)
    guard let wake = firstWake else { return next }
    return next.map { min($0, wake) } ?? wake
  }

  // MARK: - The list

  /// The list brought further items; after a stop they are left.
  mutating func add(_ entries: some Sequence<ListEntry>, at moment: Moment) {
    for entry in entries {
      lastID += 1
      status.read = lastID
      let isAbandoned = abandonedBefore.remove(lastID) != nil
      switch entry.source.mark?.end {
      case .failed: status.failed -= 1
      case .left: status.left -= 1
      case .before, nil: break
      }
      switch entry {
      case .flawed(let item, let failure):
        status.failed += 1
        let url = WebAddress.redacting(item.address)
        news.append(
          .event(
            DownloadEvent(
              time: moment.date, id: lastID, line: item.line, url: url,
              kind: .failed(failure, attempts: 0))))
      case .planned(let item, let plan):
        if recent.insert(item.key) || item.source.mark?.end != nil {
          add(item, plan, isLeft: ending != nil || isAbandoned, at: moment)
        } else {
          skip(lastID, item, .duplicate, file: nil, moment)
        }
      }
    }
  }

  private mutating func add(
    _ item: PlannedItem, _ plan: RecoveryPlan, isLeft: Bool, at moment: Moment
  ) {
    switch plan {
    case .alreadyDone(let file):
      if let path = file.outputPath { names.release(path) }
      return skip(lastID, item, .alreadyDone, file: file.path, moment)
    case .collision: return collide(item, moment)
    case .leave: leaveUnbegun(DownloadNews.Remains(item: item), isRecorded: true)
    case .rename where isLeft:
      leaveUnbegun(DownloadNews.Remains(item: item), isRecorded: true)
    case .fetch(let previous, let isConditional, let resume) where isLeft:
      let remains = DownloadNews.Remains(item: item, resume: resume, previous: previous)
      leaveUnbegun(remains, isRecorded: isConditional)
    case .failedBefore(let failure, let attempts):
      status.failed += 1
      let event = event(.failed(failure, attempts: attempts), lastID, item, moment)
      news.append(.failed(event, DownloadNews.Remains(item: item), isRecorded: true))
    case .rename(let file):
      guard let path = names.claim(for: item, options.collisions, previous: file.outputPath)
      else { return add(item, .new, isLeft: isLeft, at: moment) }
      let job = DownloadJob(lastID, item, path: path)
      jobs[job.id] = job
      status.settling += 1
      news.append(.whole(WholeFile(keptFor: job, file)))
    case .fetch(let previous, let isConditional, let resume):
      let claimed = names.claim(for: item, options.collisions, previous: previous?.outputPath)
      guard let path = claimed ?? (options.collisions == .overwrite ? item.path : nil) else {
        return collide(item, moment)
      }
      var job = DownloadJob(lastID, item, path: path)
      job.previous = previous
      job.isConditional = isConditional
      job.resume = resume
      job.arrival = admission.newArrival(at: moment.time)
      if claimed != nil { return wait(job, at: moment.time) }
      jobs[job.id] = job
      status.waiting += 1
      behind[path.collisionKey, default: []].append(job)
    }
  }

  private mutating func leaveUnbegun(_ remains: DownloadNews.Remains, isRecorded: Bool) {
    status.left += 1
    news.append(.left(remains, isRecorded: isRecorded))
  }

  /// Another item has the path that this one wants.
  private mutating func collide(_ item: PlannedItem, _ moment: Moment) {
    if options.collisions == .skip {
      return skip(lastID, item, .collision, file: item.path.description, moment)
    }
    let failure = DownloadFailure(.name, "Something else has the name “\(item.path)”")
    status.failed += 1
    let event = event(.failed(failure, attempts: 0), lastID, item, moment)
    // It has claimed nothing.
    news.append(.failed(event, DownloadNews.Remains(item: item), isRecorded: false))
  }

  /// The list has been read to its end.
  mutating func listEnded() {
    guard ending == nil else { return }
    status.isListRead = true
  }

  /// Nothing more shall be started; the first reason for it stands.
  ///
  /// A run that is over has ended for no other reason than that.
  mutating func stop(_ reason: DownloadReport.Ending, at moment: Moment) {
    guard ending == nil, !isOver else { return }
    ending = reason
    let waiting = admission.cancelAll()
    var paused: [Int] = []
    firstWake = nil
    while let (_, _, wake) = wakes.popFirst() { if case .job(let id) = wake { paused.append(id) } }
    paused += behind.values.joined().map(\.id)
    behind = [:]
    for id in (waiting + paused).sorted() {
      if let job = jobs[id] { leave(job, moment) }
    }
    status.waiting = 0
  }

  // MARK: - Starting

  /// Nothing is started while so much news waits for the sink, or so many files for their names.
  private var isHeldBack: Bool {
    news.count >= Self.newsWindow || status.settling >= mostSettling
  }

  /// Takes out the items that are to be started now.
  ///
  /// Those of one host start in the order of the list, and the others do too unless their host
  /// keeps them waiting.
  mutating func admit(at moment: Moment) -> [DownloadJob] {
    wake(at: moment.time)
    var admitted: [DownloadJob] = []
    while !isHeldBack, let (id, grant) = admission.admit(at: moment.time) {
      status.waiting -= 1
      status.inFlight += 1
      guard var job = jobs[id] else { continue }
      job.grant = grant
      job.ticket = nil
      let refusal = update(job.address.origin, at: moment.time) { host -> DownloadFailure? in
        host.waiting -= 1
        if let refusal = host.refusal, refusal.until > moment.time { return refusal.failure }
        host.inFlight += 1
        return nil
      }
      if let refusal {
        admission.leave(grant)
        status.inFlight -= 1
        fail(job, refusal, moment)
        continue
      }
      status.peakInFlight = max(status.peakInFlight, status.inFlight)
      if job.route.last == nil {
        job.attempts += 1
        job.began = (job.began?.first ?? moment.time, moment.time)
        note(.started(attempt: job.attempts), id, job.item, moment)
      }
      jobs[id] = job
      admitted.append(job)
    }
    return admitted
  }

  mutating func wait(_ job: DownloadJob, at now: Duration) {
    var job = job
    status.waiting += 1
    let key = update(job.address.origin, at: now) { host in
      host.waiting += 1
      return host.key
    }
    job.ticket = admission.wait(job.id, key: key, arrival: job.arrival, at: now)
    job.isPausing = false
    jobs[job.id] = job
  }

  /// Leaves an item that nobody wants any more: at once if it waits or pauses, else when its attempt
  /// has ended, unless its file is whole then.
  ///
  /// One that is still on its way from the list is left when it comes.
  mutating func abandon(_ id: Int, at moment: Moment) {
    if id > lastID { abandonedBefore.insert(id) }
    jobs[id]?.isAbandoned = true
    guard let job = jobs[id] else { return }
    let key = job.path.collisionKey
    if let place = behind[key]?.firstIndex(where: { $0.id == id }) {
      behind[key]?.remove(at: place)
      if behind[key]?.isEmpty == true { behind[key] = nil }
      status.waiting -= 1
      // Its path is another one's, so it is not given back.
      jobs[id] = nil
      return leaveUnbegun(job.remains, isRecorded: job.isRecordedAsDone)
    }
    guard job.ticket != nil || job.isPausing else { return }
    if let ticket = job.ticket { admission.cancel(ticket) }
    update(job.address.origin, at: moment.time) { host in
      if job.isPausing { host.delayed -= 1 } else { host.waiting -= 1 }
    }
    status.waiting -= 1
    leave(job, moment)
  }

  mutating func insert(_ wake: Wake, at time: Duration) {
    _ = wakes.insert(wake, rank: time)
    firstWake = wakes.firstRank
  }

  /// Ends the pauses that are over.
  private mutating func wake(at now: Duration) {
    while let due = firstWake, due <= now, let (_, _, wake) = wakes.popFirst() {
      firstWake = wakes.firstRank
      switch wake {
      case .host(let origin): update(origin, at: now) { _ in }
      case .job(let id):
        guard let job = jobs[id] else { continue }
        status.waiting -= 1
        update(job.address.origin, at: now) { $0.delayed -= 1 }
        wait(job, at: now)
      }
    }
  }

  /// Changes a host, and lets the admission know of its limit.
  @discardableResult
  mutating func update<Result>(
    _ origin: String, at now: Duration, _ change: (inout HostTable.Host) -> Result
  ) -> Result {
    let most = options.limitPerHost
    let (result, newLimit) = hosts.update(origin, limit: most, at: now, change)
    if let (key, limit) = newLimit {
      admission.setLimit(limit == most ? nil : limit, forKey: key)
    }
    return result
  }

  // MARK: - News

  /// Takes out what has happened since it was asked last.
  mutating func takeNews() -> [DownloadNews] {
    defer { news = [] }
    return news
  }

  /// A partial file is kept from now on, should the process end.
  mutating func kept(_ id: Int, _ resume: ResumePoint) {
    guard var job = jobs[id] else { return }
    let instead = job.resume
    job.resume = resume
    jobs[id] = job
    news.append(.kept(job.remains, instead: instead))
  }

  mutating func fail(_ job: DownloadJob, _ failure: DownloadFailure, _ moment: Moment) {
    if jobs.removeValue(forKey: job.id) != nil { release(job.path, at: moment.time) }
    status.failed += 1
    let event = event(.failed(failure, attempts: job.attempts), job.id, job.item, moment)
    news.append(.failed(event, job.remains, isRecorded: job.isRecordedAsDone))
  }

  mutating func leave(_ job: DownloadJob, _ moment: Moment) {
    jobs[job.id] = nil
    release(job.path, at: moment.time)
    status.left += 1
    news.append(.left(job.remains, isRecorded: job.isRecordedAsDone))
  }

  mutating func skip(
    _ id: Int, _ item: PlannedItem, _ reason: SkipReason, file: String?, _ moment: Moment
  ) {
    status.skipped += 1
    note(.skipped(reason, file: file), id, item, moment)
  }

  mutating func note(
    _ kind: DownloadEvent.Kind, _ id: Int, _ item: PlannedItem, _ moment: Moment
  ) {
    news.append(.event(event(kind, id, item, moment)))
  }

  private func event(
    _ kind: DownloadEvent.Kind, _ id: Int, _ item: PlannedItem, _ moment: Moment
  ) -> DownloadEvent {
    DownloadEvent(
      time: moment.date, id: id, line: item.line, url: item.address.redacted, kind: kind)
  }
}
