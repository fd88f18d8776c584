// SPDX-License-Identifier: Apache-2.0

internal import CFileCalls

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// A file while it is incomplete: nobody sees it under its final name before ``commit(as:or:)``.
///
/// Where the file system allows, it has no name at all, and is gone with the process. Dropping it
/// removes it.
struct PartialFile: ~Copyable {
  private let folder: OutputFolder
  private let descriptor: Int32
  /// What has to be removed unless the file is committed, where it has a name.
  private var named: NamedPartialFile?

  /// The bytes written so far.
  private(set) var size: Int64 = 0

  /// Makes an empty partial file for the folder.
  init(in folder: OutputFolder) throws(SystemError) {
    self.folder = folder
    if let partials = folder.partials {
      let file = try NamedPartialFile(in: partials)
      descriptor = file.descriptor
      named = file
    } else {
      let file = batchwise_open_nameless(folder.descriptor, 0o666)
      guard file >= 0 else { throw SystemError(errno) }
      descriptor = file
    }
  }

  deinit {
    if let named { named.remove() } else { close(descriptor) }
  }

  /// Writes all bytes at the end of the file.
  mutating func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    var rest = bytes
    while let start = rest.baseAddress, !rest.isEmpty {
      let count = systemWrite(descriptor, start, rest.count)
      if count > 0 {
        size += Int64(count)
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      } else if errno != EINTR {
        throw SystemError(errno)
      }
    }
  }

  /// Gives the file the name, or the alternative if it is taken, without replacing anything.
  ///
  /// Where a name belongs to a file that was there before this run and holds the same bytes, that
  /// file is kept in place of this one: fetching a list a second time piles nothing up.
  ///
  /// - Throws: A `name` failure when both names are taken by something else, a `disk` failure when
  ///   the file system refuses.
  consuming func commit(
    as name: FileName, or alternative: @autoclosure () -> FileName
  ) throws(DownloadFailure) -> CommittedFile {
    if let file = try commit(as: name) { return file }
    let alternative = alternative()
    if alternative != name, let file = try commit(as: alternative) { return file }
    throw DownloadFailure(
      .name, "\u{201c}\(name)\u{201d} and \u{201c}\(alternative)\u{201d} hold something else")
  }

  /// Gives the file the name, or returns nil if something else has it.
  private mutating func commit(
    as name: FileName
  ) throws(DownloadFailure) -> CommittedFile? {
    let result =
      if let named, let partials = folder.partials {
        batchwise_rename_exclusively(partials, named.name, folder.descriptor, name.description)
      } else {
        batchwise_link_descriptor(descriptor, folder.descriptor, name.description)
      }
    if result == 0 {
      named = nil  // It has no longer the name that the end would remove.
      return CommittedFile(name: name, isUnchanged: false)
    }
    let error = SystemError(errno)
    guard error.code == EEXIST else { throw DownloadFailure(disk: error) }
    return holdsSameBytes(as: name) ? CommittedFile(name: name, isUnchanged: true) : nil
  }

  /// Whether an older file of that name holds just what was written here.
  private func holdsSameBytes(as name: FileName) -> Bool {
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    let other = openat(folder.descriptor, name.description, flags)
    guard other >= 0 else { return false }
    defer { close(other) }
    var status = stat()
    guard fstat(other, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      Int64(status.st_size) == size, FileTime(changeOf: status) < folder.openedAt
    else { return false }

    var mine = [UInt8](repeating: 0, count: 65_536)
    var theirs = mine
    var offset: off_t = 0
    while offset < size {
      let count = pread(descriptor, &mine, mine.count, offset)
      guard count > 0, pread(other, &theirs, count, offset) == count,
        mine[..<count] == theirs[..<count]
      else { return false }
      offset += off_t(count)
    }
    return true
  }
}

/// A file under its final name.
struct CommittedFile: Equatable {
  var name: FileName
  /// Whether an earlier run had already brought the same bytes under this name.
  var isUnchanged: Bool
}

extension DownloadFailure {
  /// A file that could not be written, in the operating system's words.
  init(disk error: SystemError) {
    self.init(
      .disk, "The file could not be written: \(error)",
      remedy: error.meansFull ? .moreRoom : error.meansTooManyOpen ? .fewerAtOnce : .none)
  }
}

private func systemWrite(_ file: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
  write(file, bytes, count)
}
