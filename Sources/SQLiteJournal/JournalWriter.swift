// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

/// The one writer of a journal's file.
///
/// A record costs an append to a table without a key. What finds it again, `place`, is brought up to
/// date for thousands of records at once, in the order of their keys: the fold. Until then the
/// tail remembers them.
actor JournalWriter {
  private let queue: JournalQueue
  nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

  private let name: String
  private var file: JournalFile?
  private var tail: Tail
  private var fold: Fold?
  private var isStepComing = false
  private var foldFailure: JournalError?
  private let recordsOfStep: Int
  private var isPlaceEmpty: Bool
  /// Knows of every record, if there was none when the journal was opened: a long list that is
  /// fetched for the first time is then looked up in memory.
  private var filter: KeyFilter?
  private var forgotten: Int64
  private var buffer = TextBuffer()

  init(
    _ file: sending JournalFile, on queue: JournalQueue, folding pace: FoldPace
  ) throws(JournalError) {
    self.queue = queue
    name = file.name
    let state = try file.state()
    forgotten = state.forgotten
    isPlaceEmpty = try file.isPlaceEmpty()
    var tail = Tail(lastID: state.folded, mostRecords: pace.records)
    try file.eachUnfolded(after: state.folded) { key, id, _ in tail.add(key: key, id: id) }
    self.tail = tail
    filter = tail.lastID == 0 ? KeyFilter() : nil
    recordsOfStep = pace.step
    try file.writeAhead()
    self.file = file
  }

  private func openFile() throws(JournalError) -> JournalFile {
    guard let file else { throw JournalError(.failed, "The journal \(name) has been closed.") }
    return file
  }

  /// Gives up the file and its lock.
  func close() { file = nil }

  // MARK: - Records

  func append(_ batches: [[ItemRecord]]) throws(JournalError) {
    let file = try openFile()
    if let foldFailure {
      self.foldFailure = nil
      foldLater()
      throw foldFailure
    }
    let first = tail.lastID + 1
    try file.database.transaction { () throws(JournalError) in
      var id = first
      for batch in batches {
        for record in batch {
          try RecordColumns.bind(record, id: id, to: file.insert, &self.buffer)
          try file.insert.run()
          id += 1
        }
      }
    }
    var id = first
    for batch in batches {
      for record in batch {
        tail.add(key: record.key.rawValue, id: id)
        filter?.add(record.key.rawValue)
        id += 1
      }
    }
    if tail.isLong { try beginFold(file) }
  }

  func records(of keys: [ItemKey]) throws(JournalError) -> [ItemRecord?] {
    let file = try openFile()
    var records: [ItemRecord?] = Array(repeating: nil, count: keys.count)
    guard keys.contains(where: { isPerhapsThere($0.rawValue) }) else { return records }
    try file.database.snapshot { () throws(JournalError) in
      for (index, key) in keys.enumerated() where self.isPerhapsThere(key.rawValue) {
        records[index] =
          if let id = self.tail.id(of: key.rawValue) {
            try file.record(id, of: key, forgotten: self.forgotten)
          } else {
            try file.record(of: key, forgotten: self.forgotten)
          }
      }
    }
    return records
  }

  private func isPerhapsThere(_ key: Int64) -> Bool {
    filter.map { $0.mayContain(key) } ?? (!isPlaceEmpty || tail.id(of: key) != nil)
  }

  func forget() throws(JournalError) {
    let file = try openFile()
    // Counts are kept of what is folded, and each of them changes its meaning here.
    try finishFold()
    try beginFold(file)
    try finishFold()
    try file.database.transaction { () throws(JournalError) in
      var state = try file.state()
      state.earlier &+= try state.done &+ file.unfinishedCount(after: state.forgotten)
      state.done = 0
      state.bytes = 0
      state.forgotten = self.tail.lastID
      try file.save(state)
    }
    forgotten = tail.lastID
  }

  // MARK: - Runs

  func begin(_ run: JournalRun) throws(JournalError) -> Int64 { try openFile().begin(run) }

  func end(_ id: Int64, _ end: JournalRun.End) throws(JournalError) { try openFile().end(id, end) }

  // MARK: - The fold

  private func beginFold(_ file: JournalFile) throws(JournalError) {
    let folded = try file.state().folded
    var fold = tail.beginFold()
    var entries: [Fold.Entry] = []
    try file.eachUnfolded(after: folded) { key, id, bytes in
      if self.tail.isFolded(key: key, id: id) {
        entries.append(Fold.Entry(key: key, id: id, bytes: bytes))
      }
    }
    entries.sort { $0.key < $1.key }
    fold.rest = entries[...]
    self.fold = fold
    foldLater()
  }

  /// Folds a step when what waits before it is done, so that nobody waits for a whole fold.
  private func foldLater() {
    guard fold != nil, !isStepComing else { return }
    isStepComing = true
    queue.async { [weak self] in
      self?.assumeIsolated { writer in
        writer.isStepComing = false
        do throws(JournalError) {
          try writer.foldStep()
          writer.foldLater()
        } catch {
          // Told by the next append, which goes no further: the tail must not grow without end.
          writer.foldFailure = error
        }
      }
    }
  }

  private func finishFold() throws(JournalError) {
    while fold != nil { try foldStep() }
  }

  private func foldStep() throws(JournalError) {
    guard let fold else { return }
    let file = try openFile()
    let step = fold.rest.prefix(recordsOfStep)
    let isLast = step.count == fold.rest.count
    try file.database.transaction { () throws(JournalError) in
      try file.fold(step, of: fold, isLast: isLast)
    }
    if !step.isEmpty { isPlaceEmpty = false }
    if isLast {
      self.fold = nil
      tail.endFold()
    } else {
      self.fold?.rest = fold.rest.dropFirst(step.count)
    }
  }
}
