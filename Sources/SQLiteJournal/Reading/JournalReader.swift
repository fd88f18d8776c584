// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

/// A look at a journal that another process may be writing.
struct JournalReader {
  /// So many records are read at once, and then handed over while the file is free.
  static let recordsOfStep = 256

  private let path: JournalPath
  private let file: JournalFile

  /// Opens a journal; nil if there is none.
  init?(_ path: String) throws(JournalError) {
    let place = try JournalPath(path)
    guard try place.kind() != .nothing else { return nil }
    try place.refuseAllButFiles()
    guard let database = try Self.open(place) else { return nil }
    try Schema.current.check(database, version: Schema.current.version)
    self.path = place
    file = try JournalFile(database, lock: nil)
  }

  /// Opens the file in the first of the ways that this file system and its rights allow.
  private static func open(_ path: JournalPath) throws(JournalError) -> Database? {
    var trouble: JournalError?
    for mode in [Database.Mode.reading, .readingOnly, .readingUnchanged] {
      // What lies beside the file would be missing, so that is no way to read it.
      if case .readingUnchanged = mode, path.hasLog { continue }
      do throws(JournalError) {
        let database = try Database(path: path.resolved, name: path.name, mode)
        try database.refuseForeign()
        try database.execute(
          """
          PRAGMA query_only = ON; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0;
          PRAGMA cell_size_check = ON; PRAGMA cache_size = -2048
          """)
        switch try Schema.current.content(of: database) {
        case .nothing: return nil
        case .journal(Schema.current.version): return database
        case .journal:
          throw JournalError.foreign(
            path.name, "It is one of an earlier version, which the next run brings up to date.")
        case .laterJournal(let version): throw JournalError.later(path.name, version: version)
        }
      } catch {
        guard error.kind == .unusable else { throw error }
        trouble = trouble ?? error
      }
    }
    throw trouble ?? .unusable(path.name, "It cannot be read")
  }

  // MARK: - The whole

  func summary(examples: Int) throws(JournalError) -> JournalSummary {
    let isInUse = JournalLock.isHeld(for: path.resolved)
    return try file.database.snapshot { () throws(JournalError) in
      let state = try self.file.state()
      var counts = Counts(done: state.done, bytes: state.bytes, earlier: state.earlier)
      var latest: [Int64: (id: Int64, bytes: Int64?)] = [:]
      try self.file.eachUnfolded(after: state.folded) { key, id, bytes in
        latest[key] = (id, bytes)
      }
      for (key, record) in latest {
        try self.count(key, record.bytes, forgotten: state.forgotten, &counts)
      }
      var summary = JournalSummary()
      summary.done = Int(counts.done)
      summary.bytes = counts.bytes
      summary.forgotten = Int(counts.earlier)
      summary.lastRun = try self.file.lastRun()
      summary.isInUse = isInUse
      try self.countUnfinished(
        of: &summary, after: state.forgotten, examples: examples
      ) { key, id in latest[key].map { $0.id == id } ?? true }
      return summary
    }
  }

  private struct Counts {
    var done: Int64
    var bytes: Int64
    var earlier: Int64
  }

  /// Counts what a fold would count for a record that is not folded.
  private func count(
    _ key: Int64, _ bytes: Int64?, forgotten: Int64, _ counts: inout Counts
  ) throws(JournalError) {
    // A record that a fold under way has placed already is taken out and counted again.
    if let placed = try file.placed(key) {
      if placed <= forgotten {
        counts.earlier &-= 1
      } else if let (isDone, bytes) = try file.length(of: placed), isDone {
        counts.done &-= 1
        counts.bytes &-= bytes
      }
    }
    if let bytes {
      counts.done &+= 1
      counts.bytes &+= bytes
    }
  }

  private func countUnfinished(
    of summary: inout JournalSummary, after forgotten: Int64, examples: Int,
    isLatest: (_ key: Int64, _ id: Int64) -> Bool
  ) throws(JournalError) {
    var groups: [DownloadFailure.Reason: JournalSummary.FailureGroup] = [:]
    let rows = try file.database.prepare(
      """
      SELECT id, key, state, reason, url, message FROM record INDEXED BY unfinished
      WHERE state > 0 AND id > ?1
      """)
    rows.bind(forgotten, 1)
    while try rows.step() {
      guard isLatest(try rows.number(1), try rows.number(0)) else { continue }
      switch try rows.number(2) {
      case RecordColumns.State.failed:
        summary.failed += 1
        guard let reason = DownloadFailure.Reason(rawValue: try rows.text(3)) else {
          throw rows.damaged("A failure has an unknown reason")
        }
        var group =
          groups[reason] ?? JournalSummary.FailureGroup(reason: reason, count: 0, examples: [])
        group.count += 1
        if group.examples.count < examples {
          group.examples.append(
            JournalSummary.Example(url: try rows.text(4), message: try rows.text(5)))
        }
        groups[reason] = group
      case RecordColumns.State.partial: summary.partial += 1
      case RecordColumns.State.left: summary.left += 1
      default: throw rows.damaged("A record has an unknown state")
      }
    }
    summary.failures = groups.values.sorted {
      ($1.count, $0.reason.rawValue) < ($0.count, $1.reason.rawValue)
    }
  }

  // MARK: - One by one

  func eachUnfinished(_ body: (ItemRecord) throws -> Void) throws {
    var latest = LatestUnfolded()
    for state in [
      RecordColumns.State.failed, RecordColumns.State.partial, RecordColumns.State.left,
    ] {
      var last: Int64 = 0
      while true {
        let (records, next) = try step(state, after: last, &latest)
        for record in records { try body(record) }
        guard let next else { break }
        last = next
      }
    }
  }

  /// Some records of a state, and after which one to go on, if there may be more.
  private func step(
    _ wanted: Int64, after last: Int64, _ latest: inout LatestUnfolded
  ) throws(JournalError) -> ([ItemRecord], next: Int64?) {
    var seen = latest
    latest = LatestUnfolded()
    defer { latest = seen }
    return try file.database.snapshot { () throws(JournalError) in
      let state = try self.file.state()
      try seen.update(from: self.file, folded: state.folded)
      let rows = try self.file.database.prepare(
        """
        SELECT \(RecordColumns.list) FROM record INDEXED BY unfinished
        WHERE state > 0 AND state = ?1 AND id > ?2 ORDER BY id LIMIT \(Self.recordsOfStep)
        """)
      rows.bind(wanted, 1)
      rows.bind(max(last, state.forgotten), 2)
      var records: [ItemRecord] = []
      var count = 0
      var next: Int64 = last
      while try rows.step() {
        next = try rows.number(0)
        count += 1
        guard seen.isLatest(key: try rows.number(1), id: next) else { continue }
        records.append(try RecordColumns.record(in: rows, isForgotten: false))
      }
      return (records, count < Self.recordsOfStep ? nil : next)
    }
  }
}

/// Which records are the latest of their items, kept up to date while a run goes on.
private struct LatestUnfolded {
  private var ids: [Int64: Int64] = [:]
  private var folded: Int64 = 0
  private var last: Int64 = 0

  mutating func update(from file: JournalFile, folded: Int64) throws(JournalError) {
    if folded != self.folded {
      // A folded record that is still there is the latest of its item, unless another one is here.
      ids = ids.filter { $0.value > folded }
      self.folded = folded
    }
    var (ids, last) = (ids, max(last, folded))
    self.ids = [:]
    defer { (self.ids, self.last) = (ids, last) }
    try file.eachUnfolded(after: last) { key, id, _ in
      ids[key] = id
      last = id
    }
  }

  func isLatest(key: Int64, id: Int64) -> Bool { ids[key].map { $0 == id } ?? true }
}
