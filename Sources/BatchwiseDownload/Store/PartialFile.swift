// SPDX-License-Identifier: Apache-2.0

internal import CFileCalls

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// A file while it is incomplete: nobody sees it under its final name before ``commit(as:replacing:)``.
///
/// Where the file system allows, it has no name at first, and is gone with the process. When so much
/// of it is there that going on is better than beginning again, ``keep(for:)`` gives it a name in
/// `.batchwise`. Dropping it removes it, unless it is kept.
struct PartialFile: ~Copyable {
  private let folder: OutputFolder
  /// The open file.
  let file: OpenFile
  /// Its name in `.batchwise`, if it has one.
  private var name: String?
  /// Whether it stays there when it is dropped.
  private(set) var isKept = false

  /// The bytes written so far.
  private(set) var size: Int64 = 0

  /// Makes an empty partial file for the folder.
  init(in folder: OutputFolder) throws(SystemError) {
    self.folder = folder
    if folder.hasNamelessFiles {
      file = try folder.openNameless()
    } else {
      (file, name) = try folder.partials().makeUnique()
    }
  }

  /// Opens the partial file that was kept for an item, to be written on, or returns nil if there is
  /// none or another run is writing it.
  init?(keptFor key: PartialKey, in folder: OutputFolder) throws(SystemError) {
    let name = folder.name(of: key)
    guard let (file, size) = try folder.partials().open(name) else { return nil }
    self.folder = folder
    self.file = file
    self.size = size
    self.name = name
    isKept = true
  }

  deinit {
    // A later attempt goes on with it, though somebody may still read here what digests are made of.
    if isKept { file.unlock() }
    if let name, !isKept { folder.removePartial(name) }
  }

  /// Writes all bytes at the end of the file.
  mutating func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    try file.write(bytes)
    size += Int64(bytes.count)
  }

  /// Gives it a name by which a later attempt finds it, in place of an older one with the same key.
  mutating func keep(for key: PartialKey) throws(SystemError) {
    guard !isKept else { return }
    let lasting = folder.name(of: key)
    try folder.partials().keep(file, name, as: lasting)
    name = lasting
    isKept = true
  }

  /// Lets it go when it is dropped, though it was kept.
  mutating func discard() { isKept = false }

  /// Gives the file its final path.
  ///
  /// Folders that are missing are made.
  ///
  /// - Parameters:
  ///   - path: The path.
  ///   - replaces: Whether it takes the place of a file or a link that has the path. Whoever opens the
  ///     path meanwhile gets the one or the other file, and always a whole one.
  /// - Returns: What has come of it. After ``CommitResult/taken`` it can be given another path.
  /// - Throws: A `name` failure when a link or a file is where a folder should be, or a folder where
  ///   the file should be; a `disk` failure when the file system refuses.
  mutating func commit(
    as path: OutputPath, replacing replaces: Bool
  ) throws(DownloadFailure) -> CommitResult {
    // Without a name it cannot replace anything, so it gets one for a moment.
    if replaces, name == nil {
      do throws(SystemError) {
        name = try folder.partials().nameForNow(file)
      } catch {
        throw DownloadFailure(disk: error)
      }
    }
    let error = try folder.name(path) { destination, finalName in
      guard let name else {
        return batchwise_link_descriptor(file.number, destination, finalName)
      }
      return folder.movePartial(name, to: destination, finalName, replacing: replaces)
    }
    guard let error else {
      name = nil  // It has no longer the name that the end would remove.
      return .committed
    }
    guard error.code == EEXIST, !replaces else { throw DownloadFailure(naming: path, error) }
    return holdsSameBytes(as: path) ? .unchanged : .taken
  }

  /// Whether an older file of that path holds just what was written here.
  func holdsSameBytes(as path: OutputPath) -> Bool {
    guard let number = try? folder.open(path) else { return false }
    let other = OpenFile(number)
    var status = stat()
    guard fstat(number, &status) == 0, Int64(status.st_size) == size,
      FileTime(changeOf: status) < folder.openedAt
    else { return false }

    var mine = [UInt8](repeating: 0, count: 65_536)
    var theirs = mine
    var offset: off_t = 0
    while offset < size {
      let count = pread(file.number, &mine, mine.count, offset)
      guard count > 0, pread(other.number, &theirs, count, offset) == count,
        mine[..<count] == theirs[..<count]
      else { return false }
      offset += off_t(count)
    }
    return true
  }
}

/// What came of giving a file its final name.
enum CommitResult: Sendable, Equatable {
  /// It has the name.
  case committed
  /// A file of an earlier run has the name and holds the same bytes.
  case unchanged
  /// Something else has the name.
  case taken
}

extension DownloadFailure {
  /// A file that could not be written, in the operating system's words.
  init(disk error: SystemError) {
    self.init(
      .disk, "The file could not be written: \(error)",
      remedy: error.meansFull ? .moreRoom : error.meansTooManyOpen ? .fewerAtOnce : .none)
  }
}
