// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import CBaselines
import Glibc
import SQLiteJournal

/// A record such as a run of pictures makes, with a key as good as random.
private func record(_ number: Int) -> ItemRecord {
  let key = Int64(bitPattern: UInt64(bitPattern: Int64(number)) &* 0x9E37_79B9_7F4A_7C15) & .max
  return ItemRecord(
    key: ItemKey(rawValue: key),
    url: "https://pictures.example.org/collection/\(number / 1000)/picture-\(number).jpg",
    state: .done(
      StoredFile(
        path: "picture-\(number).jpg", bytes: 4096,
        sha256: Checksum(
          .sha256, bytes: (0..<32).map { UInt8(truncatingIfNeeded: number &* 31 &+ $0) }),
        validator: .entityTag("\"5f3a-\(number)-61c2\""))))
}

private func remove(_ path: String) {
  for suffix in ["", "-wal", "-shm", "-lock"] { unlink(path + suffix) }
}

private func size(_ path: String) -> Int {
  var status = stat()
  return stat(path, &status) == 0 ? Int(status.st_size) : 0
}

private func residentKilobytes(_ word: String = "VmRSS:") -> Int {
  guard let file = fopen("/proc/self/status", "r") else { return 0 }
  defer { fclose(file) }
  var line = [CChar](repeating: 0, count: 256)
  while fgets(&line, Int32(line.count), file) != nil {
    let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    let words = text.split { $0 == " " || $0 == "\t" }
    if words.first.map(String.init) == word, words.count > 1 { return Int(words[1]) ?? 0 }
  }
  return 0
}

private func seconds(_ body: () async throws -> Void) async rethrows -> Double {
  let began = ContinuousClock.now
  try await body()
  return (ContinuousClock.now - began) / .seconds(1)
}

// MARK: - Appends

/// Appends beside bare inserts of the same columns into a table of the same kind.
func measureAppends(in folder: String) async throws {
  print("\nAppends                ours /s  bare SQLite /s   ratio")
  for (batch, count) in [
    (1, 30_000), (16, 200_000), (100, 300_000), (1000, 30_000), (1000, 300_000),
  ] {
    let records = (0..<count).map { record($0) }
    var ours: [Double] = []
    var bare: [Double] = []
    for _ in 0..<3 {
      ours.append(try await journalAppends(records, batch, folder + "/a"))
      bare.append(bareInserts(records, batch, folder + "/b"))
    }
    let (mine, theirs) = (median(ours), median(bare))
    print(
      "\(column("in batches of \(batch)", 20)) \(column(mine, width: 9)) "
        + "\(column(theirs, width: 15))   \(decimal(mine / theirs, 2))")
  }
  let count = 100_000
  let records = (0..<count).map { record($0) }
  let path = folder + "/c"
  let journal = try SQLiteJournal.open(path: path)
  let time = try await seconds {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<16 {
        group.addTask {
          for index in stride(from: task, to: count, by: 16) {
            try await journal.append([records[index]])
          }
        }
      }
      try await group.waitForAll()
    }
  }
  print("single, 16 callers  \(column(Double(count) / time, width: 10))")
  await journal.close()
  remove(path)
}

private func journalAppends(
  _ records: [ItemRecord], _ batch: Int, _ path: String
) async throws -> Double {
  let journal = try SQLiteJournal.open(path: path)
  let batches = stride(from: 0, to: records.count, by: batch).map {
    Array(records[$0..<min($0 + batch, records.count)])
  }
  let time = try await seconds {
    for batch in batches { try await journal.append(batch) }
  }
  await journal.close()
  remove(path)
  return Double(records.count) / time
}

private func bareInserts(_ records: [ItemRecord], _ batch: Int, _ path: String) -> Double {
  var database: OpaquePointer?
  sqlite3_open(path, &database)
  sqlite3_exec(
    database,
    """
    PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    CREATE TABLE t (id INTEGER PRIMARY KEY, key, url, path, bytes, digest, validator)
    """, nil, nil, nil)
  var statement: OpaquePointer?
  sqlite3_prepare_v2(
    database, "INSERT INTO t VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", -1, &statement, nil)
  defer {
    sqlite3_finalize(statement)
    sqlite3_close(database)
    remove(path)
  }
  let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
  let digest = [UInt8](repeating: 7, count: 32)
  let time = nanoseconds(each: 1) {
    var id: Int64 = 0
    for start in stride(from: 0, to: records.count, by: batch) {
      sqlite3_exec(database, "BEGIN", nil, nil, nil)
      for record in records[start..<min(start + batch, records.count)] {
        guard case .done(let file) = record.state, case .entityTag(let tag)? = file.validator else {
          continue
        }
        id += 1
        sqlite3_bind_int64(statement, 1, id)
        sqlite3_bind_int64(statement, 2, record.key.rawValue)
        sqlite3_bind_text(statement, 3, record.url, -1, transient)
        sqlite3_bind_text(statement, 4, file.path, -1, transient)
        sqlite3_bind_int64(statement, 5, file.bytes)
        sqlite3_bind_blob(statement, 6, digest, 32, transient)
        sqlite3_bind_text(statement, 7, tag, -1, transient)
        sqlite3_step(statement)
        sqlite3_reset(statement)
      }
      sqlite3_exec(database, "COMMIT", nil, nil, nil)
    }
  }
  return Double(records.count) / (time / 1e9)
}

// MARK: - Sizes

func measureSizes(_ sizes: [Int], in folder: String) async throws {
  print(
    "\n   records  append/s  bytes/rec   open ms   RSS kB  peak kB  hits/s  misses/s  fresh/s  status ms"
      + "  largest log")
  for count in sizes {
    let path = folder + "/s"
    var largestLog = 0
    let fill: Double
    var fresh = 0.0
    do {
      let journal = try SQLiteJournal.open(path: path)
      fill = try await seconds {
        var next = 0
        while next < count {
          try await journal.append((next..<min(next + 100, count)).map { record($0) })
          next += 100
          if next % 1000 == 0 { largestLog = max(largestLog, size(path + "-wal")) }
        }
      }
      fresh = try await lookups(journal, (0..<20_000).map { record(-1 - $0).key }, false)
      await journal.close()
    }
    let bytes = Double(size(path)) / Double(count)
    var journal: SQLiteJournal?
    let open = try await seconds { journal = try SQLiteJournal.open(path: path) }
    guard let journal else { return }
    var hits: [Double] = []
    var misses: [Double] = []
    for round in 0..<5 {
      // In the order of a list that is run again, from some place in it.
      let first = count / 5 * round
      hits.append(try await lookups(journal, (first..<first + 20_000).map { record($0).key }, true))
      misses.append(
        try await lookups(journal, (0..<20_000).map { record(-1 - $0 - first).key }, false))
    }
    let status = try await seconds { _ = try SQLiteJournal.summary(path: path) }
    print(
      column("\(count)", 10), column(Double(count) / fill, width: 9),
      column(bytes, width: 10), column(open * 1000, places: 1, width: 9),
      column("\(residentKilobytes())", 8), column("\(residentKilobytes("VmHWM:"))", 8),
      column(median(hits), width: 7), column(median(misses), width: 9),
      column(fresh, width: 8),
      column(status * 1000, places: 1, width: 10), column("\(largestLog >> 10) kB", 12))
    await journal.close()
    remove(path)
  }
}

private func lookups(
  _ journal: SQLiteJournal, _ keys: [ItemKey], _ isThere: Bool
) async throws -> Double {
  let time = try await seconds {
    for start in stride(from: 0, to: keys.count, by: 256) {
      let found = try await journal.records(of: Array(keys[start..<min(start + 256, keys.count)]))
      precondition(found.allSatisfy { ($0 != nil) == isThere })
    }
  }
  return Double(keys.count) / time
}

// MARK: - Beginning and ending

/// What a run of few items pays: a new journal, one record, and the end.
func measureBeginnings(in folder: String) async throws {
  var times: [[Double]] = [[], [], [], []]
  for _ in 0..<15 {
    let path = folder + "/n"
    var journal: SQLiteJournal?
    times[0].append(try await seconds { journal = try SQLiteJournal.open(path: path) })
    times[1].append(try await seconds { try await journal?.append([record(1)]) })
    times[2].append(await seconds { await journal?.close() })
    times[3].append(try await seconds { journal = try SQLiteJournal.open(path: path) })
    await journal?.close()
    remove(path)
  }
  let figures = times.map { decimal(median($0) * 1000, 2) }
  print(
    "\nms to make \(figures[0]), to append one \(figures[1]), to close \(figures[2]), "
      + "to open again \(figures[3])")
}
