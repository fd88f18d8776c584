// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import CFuzzer
import Dispatch
import Foundation

@testable import SQLiteJournal

@main
enum JournalFuzzer {
  static func main() {
    var (count, arguments) = (CommandLine.argc, Optional(CommandLine.unsafeArgv))
    _ = LLVMFuzzerRunDriver(&count, &arguments) { fuzzJournal($0, $1) }
  }
}

/// The bytes are the file in which a run finds its journal.
private func fuzzJournal(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = Data(UnsafeBufferPointer(start: start, count: count))
  Folder.shared.put(bytes)
  look()
  Folder.shared.expect(bytes)
  guard let journal = open() else {
    Folder.shared.expect(bytes)
    return 0
  }
  let records = Box()
  wait { records.value = await use(journal) }
  // As the next run finds it.
  look()
  guard let journal = open() else { return 0 }
  wait {
    do throws(JournalError) {
      if let records = records.value { try await expect(records, of: journal) }
    } catch {
      check(error)
    }
    _ = await use(journal)
  }
  return 0
}

/// Reads the journal as `status` and `--unfinished` do.
private func look() {
  do {
    _ = try SQLiteJournal.summary(path: Folder.shared.journal)
    try SQLiteJournal.eachUnfinished(path: Folder.shared.journal) { _ in }
  } catch let error as JournalError {
    check(error)
  } catch {
    fatalError("\(error)")
  }
}

/// Opens the journal for a run; nil if it is refused.
private func open() -> SQLiteJournal? {
  do throws(JournalError) {
    // So often folded that a few records are enough for it.
    return try SQLiteJournal.open(
      path: Folder.shared.journal, folding: FoldPace(records: 4, step: 2))
  } catch {
    check(error)
    return nil
  }
}

/// Does with the journal what a run does, and closes it.
///
/// Returns what it should know; nil if it turned out to be damaged, which opening, that does not read
/// all of it, may not see.
private func use(_ journal: SQLiteJournal) async -> [ItemRecord]? {
  var records: [ItemRecord]?
  do throws(JournalError) {
    _ = try await journal.records(of: (0..<40).map { ItemKey(rawValue: $0) })
    let run = try await journal.begin(JournalRun(began: Date(), limit: 8))
    for round in 0..<3 as Range<Int64> {
      records = (3..<13).map { record($0, round) }
      try await journal.append(records ?? [])
      try await expect(records ?? [], of: journal)
    }
    let end = JournalRun.End(
      time: Date(), ending: .listDone, done: 10, failed: 0, skipped: 0, bytes: 20)
    try await journal.end(run, end)
  } catch {
    check(error)
    records = nil
  }
  await journal.close()
  return records
}

private func record(_ key: Int64, _ round: Int64) -> ItemRecord {
  let file = StoredFile(path: "\(key)", bytes: round, sha256: nil, validator: nil)
  return ItemRecord(
    key: ItemKey(rawValue: key), url: "http://h/\(round)", state: key < 8 ? .done(file) : .left)
}

private func expect(_ records: [ItemRecord], of journal: SQLiteJournal) async throws(JournalError) {
  let found = try await journal.records(of: records.map(\.key))
  guard found != records else { return }
  // Where rows lie in a wrong order some are not found. To see that, all of a file would have to be
  // read each time.
  require(!Folder.shared.wasSound, "What was appended is not given back: \(found)")
}

/// What is refused is refused with a kind that fits, and a word about what can be done.
private func check(_ error: JournalError) {
  require([.damaged, .foreign].contains(error.kind), "\(error)")
  require(
    ["Move it away", "--fresh", "--journal", "the next run"].contains {
      error.description.contains($0)
    }, "\(error)")
  require(error.description.contains(Folder.shared.journal), "\(error)")
}

/// Ends the fuzzer, with a word that an optimized build would not have for a precondition.
private func require(_ isKept: Bool, _ message: @autoclosure () -> String) {
  if !isKept { fatalError(message()) }
}

/// Waits on this thread for what is asynchronous.
private func wait(for body: @escaping @Sendable () async -> Void) {
  let isOver = DispatchSemaphore(value: 0)
  Task.detached {
    await body()
    isOver.signal()
  }
  isOver.wait()
}

/// What one thread leaves behind for another that waits for it.
private final class Box: @unchecked Sendable {
  var value: [ItemRecord]?
}

/// Where the journal lies: in memory where that can be had, for there is a new one for each input.
private final class Folder: Sendable {
  static let shared = Folder()

  let journal: String
  private let path: String
  private var whole: String { path + "-whole" }

  private init() {
    let memory = "/dev/shm"
    let place = access(memory, W_OK) == 0 ? memory : NSTemporaryDirectory()
    path = "\(place)/batchwise-fuzz-\(getpid())"
    journal = path + "/journal.sqlite"
    // The fuzzer ends by a call of exit, or by a signal that leaves what was found to be looked at.
    atexit {
      for path in [Folder.shared.path, Folder.shared.whole] {
        try? FileManager.default.removeItem(atPath: path)
      }
    }
  }

  /// Makes the folder anew, with nothing but a journal.
  func put(_ bytes: Data) {
    try? FileManager.default.removeItem(atPath: path)
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      try bytes.write(to: URL(filePath: journal))
      try bytes.write(to: URL(filePath: whole))
    } catch {
      fatalError("\(error)")
    }
  }

  /// Checks that the journal is as it was, and that nothing is left beside it.
  func expect(_ bytes: Data) {
    require(FileManager.default.contents(atPath: journal) == bytes, "It was changed")
    let names = try? FileManager.default.contentsOfDirectory(atPath: path)
    require(names == ["journal.sqlite"], "\(names ?? [])")
  }

  /// Whether SQLite found nothing wrong with the journal as it was put here, all of it read.
  var wasSound: Bool {
    do throws(JournalError) {
      let database = try Database(path: whole, name: whole, .readingUnchanged)
      let answer = try database.prepare("PRAGMA integrity_check(1)")
      guard try answer.step() else { return false }
      return try answer.text(0) == "ok"
    } catch {
      return false
    }
  }
}
