// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

/// The tables of a journal, and the steps by which each version is made of the one before.
struct Schema {
  /// What tells a journal from other databases, in the file's header.
  static let applicationID: Int64 = 0x4277_4A6C  // "BwJl"

  /// The statements that lead from each version to the next; a new file begins at version 0.
  ///
  /// A step that has been released is never changed. Whatever a later version writes and an earlier
  /// one cannot read, a further reason of failures too, is a step, be it an empty one.
  var steps: [String]

  /// The version that the steps lead to.
  var version: Int64 { Int64(steps.count) }

  static let current = Schema(steps: [
    // `record` is only ever appended to; `place` says which of an item's records counts, and knows
    // nothing yet of records behind `folded`. Each `forgotten` and earlier one is to be done again.
    // `done`, `bytes` and `earlier` count what `place` knows. What `name` to `dated` say is the file, or
    // the earlier one of an item that is not done; `part` and the columns after it are what it can go on
    // from.
    """
    CREATE TABLE journal (
      salt INTEGER NOT NULL,
      folded INTEGER NOT NULL,
      forgotten INTEGER NOT NULL,
      done INTEGER NOT NULL,
      bytes INTEGER NOT NULL,
      earlier INTEGER NOT NULL
    );
    INSERT INTO journal VALUES (random(), 0, 0, 0, 0, 0);
    CREATE TABLE record (
      id INTEGER PRIMARY KEY,
      key INTEGER NOT NULL,
      state INTEGER NOT NULL,
      url TEXT NOT NULL,
      name TEXT,
      size INTEGER,
      digest BLOB,
      validator TEXT,
      dated INTEGER,
      reason TEXT,
      status INTEGER,
      attempts INTEGER,
      message TEXT,
      remedy INTEGER,
      pause BLOB,
      part TEXT,
      part_dated INTEGER,
      part_size INTEGER
    );
    CREATE INDEX unfinished ON record (state) WHERE state > 0;
    CREATE TABLE place (key INTEGER PRIMARY KEY, id INTEGER NOT NULL);
    CREATE TABLE run (
      id INTEGER PRIMARY KEY,
      began INTEGER NOT NULL,
      "limit" INTEGER NOT NULL,
      ended INTEGER,
      ending TEXT,
      done INTEGER,
      failed INTEGER,
      skipped INTEGER,
      bytes INTEGER
    );
    """
  ])

  /// What a file turned out to hold.
  enum Content {
    /// Nothing at all.
    case nothing
    /// A journal of this or an earlier version.
    case journal(version: Int64)
    /// A journal of a later version.
    case laterJournal(version: Int64)
  }

  /// Looks at what a file holds, and refuses what is none of ours.
  func content(of database: Database) throws(JournalError) -> Content {
    let application = try database.number("PRAGMA application_id")
    let found = try database.number("PRAGMA user_version")
    if application != Self.applicationID {
      guard application == 0, found == 0,
        try database.number("SELECT count(*) FROM sqlite_schema") == 0
      else { throw .foreign(database.name, "It is a database of another program.") }
      return .nothing
    }
    guard found >= 0 else { throw database.damaged("Its version is \(found)") }
    return found <= version ? .journal(version: found) : .laterJournal(version: found)
  }

  /// Brings a file that holds nothing, or a journal of an earlier version, to this one.
  ///
  /// It happens as a whole or not at all.
  func migrate(_ database: Database) throws(JournalError) {
    guard try database.number("PRAGMA user_version") < version else { return }
    try database.transaction { () throws(JournalError) in
      try self.apply(to: database)
    }
  }

  private func apply(to database: Database) throws(JournalError) {
    for step in try steps.dropFirst(Int(database.number("PRAGMA user_version"))) {
      try database.execute(step)
    }
    try database.execute(
      "PRAGMA application_id = \(Self.applicationID); PRAGMA user_version = \(version)")
  }

  /// Makes sure that the file's tables are just those that the steps to its version make, and nothing
  /// beside them.
  func check(_ database: Database, version: Int64) throws(JournalError) {
    let example = try Database(path: ":memory:", name: database.name, .temporary)
    for step in steps.prefix(Int(version)) { try example.execute(step) }
    guard try tables(of: database) == tables(of: example) else {
      throw database.damaged("Its tables are not those of its version")
    }
  }

  private func tables(of database: Database) throws(JournalError) -> [String] {
    let statement = try database.prepare(
      "SELECT type || ' ' || name || ' ' || ifnull(sql, '') FROM sqlite_schema ORDER BY 1")
    var tables: [String] = []
    while try statement.step() { tables.append(try statement.text(0)) }
    return tables
  }
}
