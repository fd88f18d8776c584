// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Something that happened in a run and has to be told: to the journal first, then to the sink.
enum DownloadNews: Sendable {
  /// Something that only the sink is told.
  case event(DownloadEvent)
  /// An item has failed for good, in an earlier run if it is recorded already.
  case failed(DownloadEvent, PlannedItem, ResumePoint?, isRecorded: Bool)
  /// An item is left to the next run; what is recorded of it may say more than that.
  case left(PlannedItem, ResumePoint?, isRecorded: Bool)
  /// What has come of an item's file is kept from now on.
  case kept(PlannedItem, ResumePoint)
  /// A file is whole and waits for its final name.
  case whole(WholeFile)

  /// What the journal is told.
  var record: ItemRecord? {
    switch self {
    case .failed(let event, let item, let resume, isRecorded: false):
      guard case .failed(let failure, let attempts) = event.kind else { return nil }
      return item.record(.failed(failure, attempts: attempts, resume))
    case .left(let item, let resume, isRecorded: false):
      return item.record(resume.map { .partial($0) } ?? .left)
    case .kept(let item, let resume): return item.record(.partial(resume))
    case .whole(let file): return file.record(as: file.job.path)
    case .event, .failed, .left: return nil
    }
  }

  /// The item of which a part may be kept from which nothing goes on in this run.
  var brokenOff: PlannedItem? {
    switch self {
    case .failed(_, let item, .some, _), .left(let item, .some, _): item
    case .event, .kept, .whole, .failed, .left: nil
    }
  }

  /// The item that is neither done nor skipped, if that is what it tells.
  var unfinished: PlannedItem? {
    switch self {
    case .failed(_, let item, _, _), .left(let item, _, _): item
    case .event, .kept, .whole: nil
    }
  }

  /// The file that waits for its name.
  var file: WholeFile? { if case .whole(let file) = self { file } else { nil } }

  /// What the sink is told, unless that is known only when a file has its name.
  var event: DownloadEvent? {
    switch self {
    case .event(let event), .failed(let event, _, _, _): event
    case .left, .kept, .whole: nil
    }
  }
}

/// What came of a whole file.
enum Settlement: Sendable {
  /// It has its final name.
  case done(DownloadedFile)
  /// The file of an earlier run has its name now, or holds the same bytes.
  case skipped(SkipReason, path: String)
  /// It cannot have a name.
  case failed(DownloadFailure)
  /// The journal cannot be told of it, so it is left to the next run.
  case left
}

extension Settlement {
  /// Whether nothing is left to do about the item.
  var isFinished: Bool {
    switch self {
    case .done, .skipped: true
    case .failed, .left: false
    }
  }

  /// What the sink is told of it, if anything.
  func kind(attempts: Int, duration: Duration) -> DownloadEvent.Kind? {
    switch self {
    case .done(var file):
      file.duration = duration
      return .done(file)
    case .skipped(let reason, let path): return .skipped(reason, file: path)
    // Nothing is wrong with an item for which there was no room.
    case .failed(let failure) where failure.remedy == .moreRoom: return nil
    case .failed(let failure): return .failed(failure, attempts: attempts)
    case .left: return nil
    }
  }
}
