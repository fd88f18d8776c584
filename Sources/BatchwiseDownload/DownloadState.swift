// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// What a run knows and decides: who may start, which name it may use, when the run is over.
///
/// It starts nothing and calls nobody, and reads the clock only to date its events. Its shell,
/// ``BatchDownloader``, changes it under a lock and acts on ``admit()`` after the lock is gone.
struct DownloadState {
  /// How many items are read ahead of those in flight.
  static let window = 512
  /// How many events may wait for the sink before nothing more is started.
  static let eventWindow = 4096

  private(set) var status: DownloadStatus
  private(set) var ending: DownloadReport.Ending?
  private(set) var events: [DownloadEvent] = []
  private var waiting: ArraySlice<PlannedItem> = []
  private var names = NameClaims()
  private var recent = RecentAddresses()
  private var lastID = 0

  init(limit: Int) { status = DownloadStatus(limit: limit) }

  /// Whether nothing is in flight, nothing waits and nothing more will come.
  var isOver: Bool {
    status.inFlight == 0 && status.waiting == 0 && (status.isListRead || ending != nil)
  }

  /// Whether the sink has something to receive, or nothing to wait for any more.
  var hasNews: Bool { !events.isEmpty || isOver }

  /// How many more items should be read now; 0 until half of the window is free.
  var room: Int {
    let free = Self.window - waiting.count
    let isWanted = ending == nil && !status.isListRead && events.count < Self.eventWindow
    return isWanted && free >= Self.window / 2 ? free : 0
  }

  // MARK: - Events

  /// The list brought further items.
  mutating func add(_ items: [WorkItem], plans: [Result<PlannedItem, DownloadFailure>]) {
    guard ending == nil else { return }
    for (item, plan) in zip(items, plans) {
      lastID += 1
      switch plan {
      case .success(var planned):
        planned.id = lastID
        if recent.insert(planned.address) {
          waiting.append(planned)
        } else {
          status.skipped += 1
          note(.skipped(.duplicate, file: nil), of: planned)
        }
      case .failure(let failure):
        status.failed += 1
        note(
          .failed(failure, attempts: 0), id: lastID, line: item.line,
          url: WebAddress.redacting(item.address))
      }
    }
    status.waiting = waiting.count
  }

  /// The list has been read to its end.
  mutating func listEnded() {
    guard ending == nil else { return }
    status.isListRead = true
  }

  /// Nothing more shall be started; the first reason for it stands.
  ///
  /// A run that is over has ended for no other reason than that.
  mutating func stop(_ reason: DownloadReport.Ending) {
    guard ending == nil, !isOver else { return }
    ending = reason
    waiting = []
    status.waiting = 0
  }

  /// Takes out the items that are to be started now, in the order of the list.
  mutating func admit() -> [Admitted] {
    var admitted: [Admitted] = []
    while status.inFlight < status.limit, events.count < Self.eventWindow,
      let item = waiting.popFirst()
    {
      status.waiting = waiting.count
      guard let claimed = names.claim(for: item) else {
        status.failed += 1
        let failure = DownloadFailure(.name, "Two items in flight want the file \(item.path)")
        note(.failed(failure, attempts: 0), of: item)
        continue
      }
      status.inFlight += 1
      status.peakInFlight = max(status.peakInFlight, status.inFlight)
      note(.started(attempt: 1), of: item)
      admitted.append(Admitted(item: item, name: claimed))
    }
    return admitted
  }

  /// An item in flight has finished.
  mutating func finished(_ admitted: Admitted, _ outcome: Outcome) {
    if case .failed(let failure) = outcome, failure.remedy == .moreRoom { stop(.diskFull) }
    status.inFlight -= 1
    names.release(admitted.name)
    switch outcome {
    case .done(let file):
      status.done += 1
      status.bytes += file.bytes
      note(.done(file), of: admitted.item)
    case .unchanged(let file):
      status.skipped += 1
      note(.skipped(.unchanged, file: file), of: admitted.item)
    case .failed(let failure):
      status.failed += 1
      note(.failed(failure, attempts: 1), of: admitted.item)
    case .left: break
    }
  }

  /// Takes out the events that wait for the sink.
  mutating func takeEvents() -> [DownloadEvent] {
    defer { events = [] }
    return events
  }

  // MARK: -

  private mutating func note(_ kind: DownloadEvent.Kind, of item: PlannedItem) {
    note(kind, id: item.id, line: item.line, url: item.address.redacted)
  }

  private mutating func note(_ kind: DownloadEvent.Kind, id: Int, line: Int, url: String) {
    events.append(DownloadEvent(time: Date(), id: id, line: line, url: url, kind: kind))
  }
}

extension DownloadState {
  /// An item that may start, with the name that it holds.
  struct Admitted: Sendable {
    let item: PlannedItem
    let name: OutputPath
  }

  /// How an item in flight finished.
  enum Outcome: Sendable {
    case done(DownloadedFile)
    case unchanged(file: String)
    case failed(DownloadFailure)
    /// It was cancelled, and is left to the next run.
    case left
  }
}
