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

  /// Gives the file the path, or the alternative if that is taken, without replacing anything.
  ///
  /// Where a path belongs to a file that was there before this run and holds the same bytes, that
  /// file is kept in place of this one: fetching a list a second time piles nothing up.
  ///
  /// - Throws: A `name` failure when both paths are taken by something else, or a link or a file is
  ///   where a folder should be; a `disk` failure when the file system refuses.
  consuming func commit(
    as path: OutputPath, or alternative: @autoclosure () -> OutputPath
  ) throws(DownloadFailure) -> CommittedFile {
    if let file = try commit(as: path) { return file }
    let alternative = alternative()
    if alternative != path, let file = try commit(as: alternative) { return file }
    throw DownloadFailure(.name, "“\(path)” and “\(alternative)” hold something else")
  }

  /// Gives the file the path, or returns nil if something else has it; it can then be given another.
  ///
  /// Folders that are missing are made. A file that was there before this run and holds the same bytes
  /// is kept in place of this one.
  ///
  /// With `replacing`, it takes the place of a file or a link that has the path. Whoever opens the path
  /// meanwhile gets the one or the other file, and always a whole one.
  ///
  /// - Throws: As `commit(as:or:)`; with `replacing`, a `name` failure when a folder has the path.
  mutating func commit(
    as path: OutputPath, replacing: Bool = false
  ) throws(DownloadFailure) -> CommittedFile? {
    if replacing, named == nil {
      do throws(SystemError) {
        // Only a file with a name can take the place of another.
        named = try NamedPartialFile(naming: descriptor, in: folder.reservedFolder())
      } catch {
        throw DownloadFailure(disk: error)
      }
    }
    let error = try folder.name(path) { folder, name in
      guard let named else { return batchwise_link_descriptor(descriptor, folder, name) }
      return replacing ? named.replace(name, in: folder) : named.move(to: name, in: folder)
    }
    guard let error else {
      named = nil  // It has no longer the name that the end would remove.
      return CommittedFile(path: path, isUnchanged: false)
    }
    guard error.code == EEXIST, !replacing else { throw DownloadFailure(naming: path, error) }
    return holdsSameBytes(as: path) ? CommittedFile(path: path, isUnchanged: true) : nil
  }

  /// Whether an older file of that path holds just what was written here.
  private func holdsSameBytes(as path: OutputPath) -> Bool {
    guard let other = try? folder.open(path) else { return false }
    defer { close(other) }
    var status = stat()
    guard fstat(other, &status) == 0, Int64(status.st_size) == size,
      FileTime(changeOf: status) < folder.openedAt
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

/// A file under its final path.
struct CommittedFile: Equatable {
  var path: OutputPath
  /// Whether an earlier run had already brought the same bytes under this path.
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
