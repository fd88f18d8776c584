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
      let number = batchwise_open_nameless(folder.descriptor, 0o666)
      guard number >= 0 else { throw SystemError(errno) }
      file = OpenFile(number)
    } else {
      (file, name) = try folder.partials().makeUnique()
    }
  }

  /// Opens the partial file that was kept for an item, to be written on, or returns nil if there is
  /// none or another run is writing it.
  init?(keptFor key: ItemKey, in folder: OutputFolder) throws(SystemError) {
    guard let (file, size) = try folder.partials().open(key) else { return nil }
    self.folder = folder
    self.file = file
    self.size = size
    name = PartialFolder.name(of: key)
    isKept = true
  }

  deinit {
    if let name, !isKept { folder.removePartial(name) }
  }

  /// Writes all bytes at the end of the file.
  mutating func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    try file.write(bytes)
    size += Int64(bytes.count)
  }

  /// Gives it a name by which a later attempt finds it, in place of an older one for the same item.
  mutating func keep(for key: ItemKey) throws(SystemError) {
    guard !isKept else { return }
    try folder.partials().name(file, name, for: key)
    name = PartialFolder.name(of: key)
    isKept = true
  }

  /// Lets it go when it is dropped, though it was kept.
  mutating func discard() { isKept = false }

  /// Gives the file its final name.
  ///
  /// - Parameters:
  ///   - finalName: The name.
  ///   - replaces: Whether a file that has the name is replaced.
  /// - Returns: What has come of it. After ``CommitResult/taken`` it can be tried again.
  /// - Throws: A `disk` failure when the file system refuses.
  mutating func commit(
    as finalName: FileName, replacing replaces: Bool
  ) throws(DownloadFailure) -> CommitResult {
    let destination = folder.descriptor
    do throws(SystemError) {
      // Without a name it cannot replace anything, so it gets one for a moment.
      if replaces, name == nil { name = try folder.partials().nameForNow(file) }
      let result =
        if let name {
          try folder.partials().move(name, to: destination, finalName.description, replaces)
        } else {
          batchwise_link_descriptor(file.number, destination, finalName.description)
        }
      if result == 0 {
        name = nil  // It has no longer the name that the end would remove.
        return .committed
      }
      guard errno == EEXIST else { throw SystemError(errno) }
    } catch {
      throw DownloadFailure(disk: error)
    }
    return holdsSameBytes(as: finalName) ? .unchanged : .taken
  }

  /// Whether an older file of that name holds just what was written here.
  private func holdsSameBytes(as name: FileName) -> Bool {
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    let number = openat(folder.descriptor, name.description, flags)
    guard number >= 0 else { return false }
    let other = OpenFile(number)
    var status = stat()
    guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      Int64(status.st_size) == size, FileTime(changeOf: status) < folder.openedAt
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
