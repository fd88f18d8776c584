// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

extension SQLiteJournal {
  /// The files that a journal at a path consists of while it is open.
  package static func files(at path: String) -> [String] {
    ["", "-wal", "-shm", JournalLock.suffix].map { path + $0 }
  }
}

/// Where a journal lies: its path as people know it, and the path of the same file that does not
/// change its meaning with the working directory or with links.
struct JournalPath {
  let name: String
  let resolved: String

  init(_ path: String) throws(JournalError) {
    name = path
    let slash = path.lastIndex(of: "/")
    let folder = slash.map { String(path[...$0]) } ?? "."
    let last = slash.map { path[path.index(after: $0)...] } ?? path[...]
    guard !last.isEmpty, last != ".", last != "..", !path.utf8.contains(0) else {
      throw .foreign(path, "It names no file.")
    }
    guard let found = realpath(folder, nil) else {
      throw .unusable(path, SystemError(errno).description)
    }
    defer { free(found) }
    let whole = String(cString: found)
    resolved = whole == "/" ? whole + last : whole + "/" + last
  }

  /// What lies there.
  enum Kind { case nothing, file, folder, link, other }

  func kind() throws(JournalError) -> Kind {
    var status = stat()
    guard lstat(resolved, &status) == 0 else {
      guard errno == ENOENT else { throw .unusable(name, SystemError(errno).description) }
      return .nothing
    }
    return switch status.st_mode & S_IFMT {
    case S_IFREG: status.st_size == 0 ? .nothing : .file
    case S_IFDIR: .folder
    case S_IFLNK: .link
    default: .other
    }
  }

  func refuseAllButFiles() throws(JournalError) {
    switch try kind() {
    case .nothing, .file: return
    case .folder: throw .foreign(name, "It is a folder.")
    case .link: throw .foreign(name, "It is a symbolic link.")
    case .other: throw .foreign(name, "It is no regular file.")
    }
  }

  /// Whether something lies beside the journal that has not been written into it yet.
  var hasLog: Bool {
    var status = stat()
    return lstat(resolved + "-wal", &status) == 0 && status.st_size > 0
  }

  /// Moves the journal, and what SQLite keeps beside it, to the first free name of a kind.
  func putAside() throws(JournalError) {
    var number = 1
    while ["", "-wal", "-shm"].contains(where: { exists("\(resolved).unusable-\(number)\($0)") }) {
      number += 1
    }
    // The journal first: SQLite takes what is left beside a journal that is new for rubbish.
    for suffix in ["", "-wal", "-shm", "-journal"] {
      if rename(resolved + suffix, "\(resolved).unusable-\(number)\(suffix)") != 0,
        errno != ENOENT
      {
        throw .unusable(name, SystemError(errno).description)
      }
    }
  }

  private func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }
}

extension JournalFile {
  /// What opening came to.
  enum Opened {
    case file(JournalFile)
    /// It is a journal of a later version of the program, which has been left as it is.
    case laterVersion(Int64)
  }

  /// Opens a journal for writing, and makes it if there is none.
  static func open(
    _ path: JournalPath, _ lock: JournalLock, _ schema: Schema, isThorough: Bool
  ) throws(JournalError) -> Opened {
    try path.refuseAllButFiles()
    let isThere = try path.kind() == .file
    let database = try Database(path: path.resolved, name: path.name, .writing)
    if isThere { try database.refuseForeign() }
    let content = try schema.content(of: database)
    if case .laterJournal(let version) = content { return .laterVersion(version) }
    // Before anything is written: what is refused is left as it is.
    if case .journal(let version) = content { try schema.check(database, version: version) }
    if isThorough { try checkAll(database) }
    try database.execute(
      """
      PRAGMA page_size = 4096; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0;
      PRAGMA cell_size_check = ON; PRAGMA secure_delete = OFF; PRAGMA synchronous = NORMAL;
      PRAGMA cache_size = -2048
      """)
    try schema.migrate(database)
    return .file(try JournalFile(database, lock: lock))
  }

  /// Has what is written from now on laid beside the file first, which the file itself remembers.
  ///
  /// The last step of opening, for it may change a file that what it holds can still make unusable.
  func writeAhead() throws(JournalError) {
    let statement = try database.prepare("PRAGMA journal_mode = WAL")
    guard try statement.step(), try statement.text(0) == "wal", try !statement.step() else {
      throw .unusable(name, "Its file system lacks shared memory")
    }
    try database.execute("PRAGMA wal_autocheckpoint = 1000; PRAGMA journal_size_limit = 4194304")
    // The first look makes the files beside it, so that what is wrong with these is told now.
    _ = try isEmpty()
  }

  private static func checkAll(_ database: Database) throws(JournalError) {
    let statement = try database.prepare("PRAGMA quick_check(1)")
    guard try statement.step(), try statement.text(0) == "ok" else {
      throw database.damaged("Its pages do not fit together")
    }
  }
}
