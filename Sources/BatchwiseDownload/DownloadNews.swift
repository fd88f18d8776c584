// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Something that happened in a run and has to be told: to the journal first, then to the sink.
enum DownloadNews: Sendable {
  /// Something that only the sink is told.
  case event(DownloadEvent)
  /// An item has failed for good, in an earlier run if it is recorded already.
  case failed(DownloadEvent, Remains, isRecorded: Bool)
  /// An item is left to the next run; what is recorded of it may say more than that.
  case left(Remains, isRecorded: Bool)
  /// What has come of an item's file is kept from now on, in place of an earlier part.
  case kept(Remains, instead: ResumePoint?)
  /// The previous file is the right one still, though a part was kept to take its place.
  case restored(Remains)
  /// A file is whole and waits for its final name.
  case whole(WholeFile)

  /// What there is of an item that has not come to its end.
  struct Remains: Sendable {
    var item: PlannedItem
    /// The path that it has claimed, if it has.
    var path: OutputPath?
    /// From where a later attempt can go on.
    var resume: ResumePoint?
    /// What an earlier run has brought.
    var previous: StoredFile?

    /// The key of what is kept of it.
    var partial: PartialKey? { resume?.partialKey(of: item.key) }

    fileprivate func record(_ state: ItemRecord.State? = nil) -> ItemRecord {
      item.record(state ?? resume.map { .partial($0) } ?? .left, previous: previous)
    }
  }

  /// What the journal is told.
  var record: ItemRecord? {
    switch self {
    case .failed(let event, let remains, isRecorded: false):
      guard case .failed(let failure, let attempts) = event.kind else { return nil }
      return remains.record(.failed(failure, attempts: attempts, remains.resume))
    case .left(let remains, isRecorded: false), .kept(let remains, _): return remains.record()
    case .restored(let remains): return remains.previous.map { remains.item.record(.done($0)) }
    case .whole(let file): return file.record(as: file.job.path)
    case .event, .failed, .left: return nil
    }
  }

  /// What may be kept of an item and is of no more use: what nothing remembers once it is not gone on
  /// with in this run, and what a later part has taken the place of.
  func useless(isRemembered: Bool) -> PartialKey? {
    switch self {
    case .failed(_, let remains, _), .left(let remains, _):
      return isRemembered ? nil : remains.partial
    case .kept(let remains, let instead):
      let old = instead?.partialKey(of: remains.item.key)
      return old == remains.partial ? nil : old
    case .restored(let remains): return remains.partial
    case .event, .whole: return nil
    }
  }

  /// What there is of an item that is neither done nor skipped, if that is what it tells.
  var unfinished: Remains? {
    switch self {
    case .failed(_, let remains, _), .left(let remains, _): remains
    case .event, .kept, .restored, .whole: nil
    }
  }

  /// The file that waits for its name.
  var file: WholeFile? { if case .whole(let file) = self { file } else { nil } }

  /// What the sink is told, unless that is known only when a file has its name.
  var event: DownloadEvent? {
    switch self {
    case .event(let event), .failed(let event, _, _): event
    case .left, .kept, .restored, .whole: nil
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
