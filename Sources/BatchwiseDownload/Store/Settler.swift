// SPDX-License-Identifier: Apache-2.0

/// Tells the journal what happened and gives whole files their names, in this order.
///
/// A row that is written before its file has the name is worth nothing if the process ends in
/// between, for the next run finds no file. The other way round a file would be there that nobody
/// knows, and the next run would fetch it again. A file that takes another's place is named first,
/// though: the next run would find that other one, and believe the row if it has the same length.
struct Settler {
  let journal: (any DownloadJournal)?
  let folder: OutputFolder
  let collisions: CollisionPolicy

  /// Settles what happened.
  ///
  /// - Parameter news: What happened, in its order.
  /// - Returns: What came of each whole file, in the order of the news.
  /// - Throws: What kept the journal from being written. Files that have no row then get no name.
  func settle(
    _ news: [DownloadNews]
  ) async throws(JournalError) -> [(WholeFile, Settlement)] {
    var entries = news.map { news -> Entry in
      guard let file = news.file else { return Entry(record: news.record) }
      let path = path(for: file)
      var entry = Entry(record: file.record(as: path), file: (file, path))
      guard replaces(file, path) else { return entry }
      do throws(DownloadFailure) {
        entry.settlement = try name(file, path)
      } catch {
        (entry.record, entry.settlement) = (record(of: file, error), .failed(error))
      }
      return entry
    }
    try await record(&entries)
    for news in news {
      if let key = news.useless(isRemembered: journal != nil) { folder.removePartial(key) }
    }
    var settlements: [(WholeFile, Settlement)] = []
    for entry in entries {
      guard let (file, path) = entry.file else { continue }
      if let settlement = entry.settlement {
        settlements.append((file, settlement))
      } else {
        settlements.append((file, try await settle(file, as: path)))
      }
    }
    return settlements
  }

  /// A piece of news on its way into the journal.
  private struct Entry {
    var record: ItemRecord?
    /// The whole file that it is about, and the path that it is to get.
    var file: (WholeFile, OutputPath)?
    /// What has come of the file, if that is known already.
    var settlement: Settlement?
  }

  /// Adds the records to the journal.
  ///
  /// Where the disk is full, it may be the files without a name that take the room which the journal
  /// lacks. The later half of them is then given up for the others, if need be again and again: each run
  /// leaves less to do than the one before.
  private func record(_ entries: inout [Entry]) async throws(JournalError) {
    while true {
      let records = entries.compactMap(\.record)
      if records.isEmpty { return }
      do throws(JournalError) {
        return try await journal?.append(records) ?? ()
      } catch {
        let waiting = entries.indices.filter {
          entries[$0].file != nil && entries[$0].settlement == nil
        }
        guard error.kind == .diskFull, waiting.count > 1 else { throw error }
        for index in waiting[(waiting.count / 2)...] {
          entries[index].file?.0.giveUp()
          entries[index].record = nil
          entries[index].settlement = .failed(DownloadFailure(disk: .noSpace))
        }
      }
    }
  }

  /// The path that a file is going to get, as far as can be seen before.
  ///
  /// Looked up before the row is written, for a row that names another's file would be believed.
  private func path(for file: WholeFile) -> OutputPath {
    let path = file.job.path
    guard collisions == .suffix, !replaces(file, path), (try? folder.hasEntry(path)) != false,
      !file.isThere(as: path, in: folder)
    else { return path }
    return path.alternative(for: file.job.item.address)
  }

  private func replaces(_ file: WholeFile, _ path: OutputPath) -> Bool {
    collisions == .overwrite || file.job.previous?.path == path.description
  }

  private func settle(
    _ file: WholeFile, as path: OutputPath
  ) async throws(JournalError) -> Settlement {
    var failure: DownloadFailure
    var isTaken = false
    do throws(DownloadFailure) {
      if let settlement = try name(file, path) { return settlement }
      (failure, isTaken) = (taken(path), true)
    } catch {
      failure = error
    }
    if isTaken, collisions == .skip {
      // Or the row would be believed, and the other's file taken for this one's.
      try await journal?.append([file.job.item.record(.left, previous: file.job.previous)])
      return .skipped(.collision, path: path.description)
    }
    let alternative = path.alternative(for: file.job.item.address)
    if collisions == .suffix, failure.remedy == .none, path == file.job.path, alternative != path {
      // It was taken just now. The row has to be there before the name is, here too.
      try await journal?.append([file.record(as: alternative)])
      do throws(DownloadFailure) {
        if let settlement = try name(file, alternative) { return settlement }
        failure = taken(path, alternative)
      } catch {
        failure = error
      }
    }
    try await journal?.append([record(of: file, failure)])
    return .failed(failure)
  }

  /// What is recorded of a file that gets no name.
  private func record(of file: WholeFile, _ failure: DownloadFailure) -> ItemRecord {
    let state = ItemRecord.State.failed(failure, attempts: file.job.attempts, nil)
    return file.job.item.record(
      failure.remedy == .moreRoom ? .left : state, previous: file.job.previous)
  }

  private func taken(_ paths: OutputPath...) -> DownloadFailure {
    let names = paths.map { "“\($0)”" }.joined(separator: " and ")
    return DownloadFailure(.name, "Something else is there by the name \(names)")
  }

  /// Gives a file a path, or returns nil if something else has it.
  private func name(
    _ file: WholeFile, _ path: OutputPath
  ) throws(DownloadFailure) -> Settlement? {
    switch try file.commit(as: path, replacing: replaces(file, path), in: folder) {
    case .taken: return nil
    case .unchanged: return .skipped(.unchanged, path: path.description)
    case .committed:
      guard var done = file.download else {
        return .skipped(.alreadyDone, path: path.description)
      }
      done.name = path.description
      return .done(done)
    }
  }
}
