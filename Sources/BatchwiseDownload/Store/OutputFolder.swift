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

  /// The folders below it.
  let subfolders: Subfolders

  /// The file system's own time when this folder was opened.
  ///
  /// A file that was changed before it is no work of this run.
  let openedAt: FileTime

  /// The folder inside it that holds partial files, or nil where files need no name while they are
  /// partial; learnt once, when the folder is opened.
  let partials: FolderDescriptor?

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
    do throws(SystemError) {
      try Self.makeFolders(path)
      // Not by a method's name that this class has too.
      let folder = openFolder(path)
      guard folder >= 0 else { throw SystemError(errno) }
      let root = FolderDescriptor(owning: folder)
      descriptor = folder
      subfolders = Subfolders(of: root)
      (partials, openedAt) = try Self.probe(root, namelessFiles: namelessFiles)
    } catch {
      throw OutputFolderError(path: path, error)
    }
  }

  /// The folder that the downloader keeps for itself, made if it is missing.
  func reservedFolder() throws(SystemError) -> FolderDescriptor {
    if let partials { return partials }
    return try subfolders.folder(OutputPath.reserved, isMade: true)
  }

  /// Makes a first file, which shows what is possible here and what time it is here, and removes what
  /// killed runs left behind.
  private static func probe(
    _ folder: FolderDescriptor, namelessFiles: Bool
  ) throws(SystemError) -> (partials: FolderDescriptor?, now: FileTime) {
    errno = 0
    let nameless = namelessFiles ? batchwise_open_nameless(folder.number, 0o600) : -1
    if nameless >= 0 {
      defer { close(nameless) }
      if let partials = try? folder.openFolder(OutputPath.reserved) {
        NamedPartialFile.removeAbandoned(in: partials)
      }
      return (nil, try FileTime(now: nameless))
    }
    // No more files may be open just now, which says nothing about this file system.
    if errno == EMFILE || errno == ENFILE { throw SystemError(errno) }
    guard mkdirat(folder.number, OutputPath.reserved, 0o777) == 0 || errno == EEXIST else {
      throw SystemError(errno)
    }
    let partials = try folder.openFolder(OutputPath.reserved)
    let probe = try NamedPartialFile(in: partials)
    defer { probe.remove() }
    let now = try FileTime(now: probe.descriptor)
    NamedPartialFile.removeAbandoned(in: partials)
    return (partials, now)
  }

  private static func makeFolders(_ path: String) throws(SystemError) {
    if mkdir(path, 0o777) == 0 || errno == EEXIST || errno == EISDIR { return }
    let error = SystemError(errno)
    let slash = path.utf8.dropLast().lastIndex(of: UInt8(ascii: "/"))
    guard error.code == ENOENT, let slash, slash > path.startIndex else { throw error }
    try makeFolders(String(path[..<slash]))
    if mkdir(path, 0o777) != 0, errno != EEXIST { throw SystemError(errno) }
  }
}

private func openFolder(_ path: String) -> Int32 {
  open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
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
