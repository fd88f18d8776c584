// SPDX-License-Identifier: Apache-2.0

internal import CFileCalls
internal import Synchronization

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

  var descriptor: Int32 { root.number }
  private let root: OpenFile
  /// The folders below it.
  let subfolders: Subfolders

  /// The file system's own time when this folder was opened.
  ///
  /// A file that was changed before it is no work of this run.
  let openedAt: FileTime

  /// Whether a file can do without a name here until it is whole; learnt once, at the opening.
  let hasNamelessFiles: Bool

  private let partialFolder = Mutex<PartialFolder?>(nil)
  private let hasServed = Atomic<Bool>(false)
  private let remembersPartials = Atomic<Bool>(true)
  private let inUse = Mutex<Set<FileIdentity>>([])

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
      root = OpenFile(folder)
      subfolders = Subfolders(of: root)
      (hasNamelessFiles, openedAt) = try Self.probe(root, namelessFiles: namelessFiles)
    } catch {
      throw OutputFolderError(path: path, error)
    }
  }

  /// The same folder for a further run, to which what an earlier one has written is an older file.
  ///
  /// - Throws: An ``OutputFolderError`` when nothing can be written into it any more.
  package func forNextRun() throws(OutputFolderError) -> OutputFolder {
    guard hasServed.exchange(true, ordering: .relaxed) else { return self }
    return try OutputFolder(sharing: self)
  }

  private init(sharing other: OutputFolder) throws(OutputFolderError) {
    path = other.path
    root = other.root
    subfolders = Subfolders(of: root)
    do throws(SystemError) {
      (hasNamelessFiles, openedAt) = try Self.probe(root, namelessFiles: other.hasNamelessFiles)
    } catch {
      throw OutputFolderError(path: path, error)
    }
  }

  /// Opens a file that has no name.
  func openNameless() throws(SystemError) -> OpenFile { try root.openNameless() }

  /// Where the folder's journal is kept unless it is told otherwise, in a folder that is made if it is
  /// missing.
  ///
  /// - Throws: An ``OutputFolderError`` when that folder cannot be made, or is something else.
  public func journalPath() throws(OutputFolderError) -> String {
    do throws(SystemError) {
      _ = try partials()
    } catch {
      throw OutputFolderError(path: "\(path)/\(OutputPath.reserved)", error)
    }
    return "\(path)/\(OutputPath.reserved)/journal.sqlite"
  }

  /// The folder of partial files that have a name; made when it is needed first.
  func partials() throws(SystemError) -> PartialFolder {
    try partialFolder.withLock { folder throws(SystemError) in
      // Another run may have found it empty and removed it.
      if let folder, folder.isThere { return folder }
      let made = try PartialFolder(in: root)
      folder = made
      return made
    }
  }

  /// The length of the file that the journal names, or nil if there is none.
  func recordedSize(of path: String) -> Int64? {
    guard let path = try? OutputPath(listed: path) else { return nil }
    return try? size(of: path)
  }

  /// The length of a kept partial file, or nil if there is none.
  func partialSize(of key: PartialKey) -> Int64? { (try? partials())?.size(of: name(of: key)) }

  /// From now on no kept partial file is found by a later run, for no journal remembers it.
  func keepPartialsForThisRunOnly() { remembersPartials.store(false, ordering: .relaxed) }

  /// The name of a kept partial file.
  func name(of key: PartialKey) -> String {
    remembersPartials.load(ordering: .relaxed) ? key.name : key.name + "-once"
  }

  /// Removes the partial files that killed runs left behind, but for those of items that can still
  /// go on from them.
  func removeAbandonedPartials(keeping isWanted: (PartialKey) async -> Bool) async {
    var status = stat()
    guard fstatat(descriptor, ".batchwise", &status, AT_SYMLINK_NOFOLLOW) == 0 else { return }
    await (try? partials())?.removeAbandoned(keeping: isWanted)
  }

  /// Keeps a file that the run itself uses, such as its list or its journal, from being replaced by a
  /// download, whatever a list says.
  package func protect(_ descriptor: Int32) {
    var status = stat()
    if fstat(descriptor, &status) == 0 { inUse.withLock { _ = $0.insert(FileIdentity(status)) } }
  }

  /// Does the same for the file at a path, if there is one.
  package func protect(path: String) {
    var status = stat()
    if stat(path, &status) == 0 { inUse.withLock { _ = $0.insert(FileIdentity(status)) } }
  }

  /// Moves a partial file to its final place; as the system's calls do, it returns 0 or sets `errno`.
  func movePartial(_ name: String, to folder: Int32, _ finalName: String, replacing: Bool) -> Int32
  {
    var status = stat()
    if replacing, fstatat(folder, finalName, &status, AT_SYMLINK_NOFOLLOW) == 0,
      inUse.withLock({ $0.contains(FileIdentity(status)) })
    {
      errno = EBUSY
      return -1
    }
    return partialFolder.withLock { $0?.move(name, to: folder, finalName, replacing) ?? -1 }
  }

  /// Removes a kept partial file, if there is one and nobody is writing it.
  func removePartial(_ key: PartialKey) { (try? partials())?.removeUnlocked(name(of: key)) }

  /// Removes the folder of partial files, if one has been in use and nothing is left in it.
  func removeEmptyPartials() {
    partialFolder.withLock { folder in
      if exchange(&folder, with: nil) != nil {
        unlinkat(descriptor, OutputPath.reserved, AT_REMOVEDIR)
      }
    }
  }

  func removePartial(_ name: String) { partialFolder.withLock { $0?.remove(name) } }

  /// Makes a first file, which shows what is possible here and what time it is here.
  private static func probe(
    _ folder: OpenFile, namelessFiles: Bool
  ) throws(SystemError) -> (hasNamelessFiles: Bool, now: FileTime) {
    errno = 0
    let nameless = namelessFiles ? batchwise_open_nameless(folder.number, 0o600) : -1
    if nameless >= 0 {
      defer { close(nameless) }
      return (true, try FileTime(now: nameless))
    }
    // No more files may be open just now, which says nothing about this file system.
    if errno == EMFILE || errno == ENFILE { throw SystemError(errno) }
    let partials = try PartialFolder(in: folder)
    let (probe, name) = try partials.makeUnique()
    defer { if let name { partials.remove(name) } }
    return (false, try FileTime(now: probe.number))
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

/// What tells a file from all others of the system, under whichever path.
private struct FileIdentity: Hashable {
  private let device: UInt64
  private let number: UInt64

  init(_ status: stat) {
    device = UInt64(truncatingIfNeeded: status.st_dev)
    number = UInt64(truncatingIfNeeded: status.st_ino)
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
