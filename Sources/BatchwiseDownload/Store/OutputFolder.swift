// SPDX-License-Identifier: Apache-2.0

internal import CFileCalls

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// The folder that files go to: opened once, made if missing, and reached by its descriptor only.
///
/// Moving or replacing the folder's path while a run is under way does not lead the run elsewhere.
public final class OutputFolder: Sendable {
  /// The path it was opened with.
  public let path: String

  let descriptor: Int32

  /// The file system's own time when this folder was opened.
  ///
  /// A file that was changed before it is no work of this run.
  let openedAt: FileTime

  /// The folder inside it that holds partial files, or nil where files need no name while they are
  /// partial; learnt once, when the folder is opened.
  let partials: Int32?

  /// Opens the folder, and makes it and the folders above it if they are missing.
  ///
  /// - Throws: An ``OutputFolderError`` when the folder cannot be made, or nothing can be written
  ///   into it.
  public convenience init(path: String) throws(OutputFolderError) {
    try self.init(path: path, namelessFiles: true)
  }

  /// Opens the folder, and with `namelessFiles` false does without files that have no name, as
  /// on file systems that lack them.
  package init(path: String, namelessFiles: Bool) throws(OutputFolderError) {
    self.path = path
    try Self.makeFolders(path)
    descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw OutputFolderError(path: path, SystemError(errno)) }

    do throws(SystemError) {
      (partials, openedAt) = try Self.probe(descriptor, namelessFiles: namelessFiles)
    } catch {
      close(descriptor)
      throw OutputFolderError(path: path, error)
    }
  }

  deinit {
    if let partials { close(partials) }
    close(descriptor)
  }

  /// Makes a first file, which shows what is possible here and what time it is here.
  private static func probe(
    _ folder: Int32, namelessFiles: Bool
  ) throws(SystemError) -> (partials: Int32?, now: FileTime) {
    var status = stat()
    let nameless = namelessFiles ? batchwise_open_nameless(folder, 0o600) : -1
    if nameless >= 0 {
      defer { close(nameless) }
      guard fstat(nameless, &status) == 0 else { throw SystemError(errno) }
      return (nil, FileTime(changeOf: status))
    }
    guard mkdirat(folder, ".batchwise", 0o777) == 0 || errno == EEXIST else {
      throw SystemError(errno)
    }
    let partials = openat(folder, ".batchwise", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard partials >= 0 else { throw SystemError(errno) }
    do throws(SystemError) {
      let probe = try NamedPartialFile(in: partials)
      defer { probe.remove() }
      guard fstat(probe.descriptor, &status) == 0 else { throw SystemError(errno) }
    } catch {
      close(partials)
      throw error
    }
    NamedPartialFile.removeAbandoned(in: partials)
    return (partials, FileTime(changeOf: status))
  }

  private static func makeFolders(_ path: String) throws(OutputFolderError) {
    if mkdir(path, 0o777) == 0 || errno == EEXIST || errno == EISDIR { return }
    guard errno == ENOENT, let slash = path.dropLast().lastIndex(of: "/"), slash > path.startIndex
    else { throw OutputFolderError(path: path, SystemError(errno)) }
    try makeFolders(String(path[..<slash]))
    if mkdir(path, 0o777) != 0, errno != EEXIST {
      throw OutputFolderError(path: path, SystemError(errno))
    }
  }
}

/// An output folder that cannot be used.
public struct OutputFolderError: Error, Sendable, CustomStringConvertible {
  /// The folder's path, as it was given.
  public let path: String
  /// What the operating system said.
  public let cause: SystemError

  init(path: String, _ cause: SystemError) {
    self.path = path
    self.cause = cause
  }

  /// One sentence that names the folder and what the operating system said.
  public var description: String { "The output folder \(path) cannot be used: \(cause)" }
}

/// A moment as a file system tells it.
struct FileTime: Comparable {
  private let seconds: Int
  private let nanoseconds: Int

  /// When the file, its links or its permissions were last changed.
  init(changeOf status: stat) {
    #if canImport(Darwin)
      seconds = status.st_ctimespec.tv_sec
      nanoseconds = status.st_ctimespec.tv_nsec
    #else
      seconds = status.st_ctim.tv_sec
      nanoseconds = status.st_ctim.tv_nsec
    #endif
  }

  static func < (left: FileTime, right: FileTime) -> Bool {
    (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
  }
}
