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

extension OpenFile {
  /// Opens a folder in this folder, which must be no link to one.
  func openFolder(_ name: String) throws(SystemError) -> OpenFile {
    let folder = openat(number, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard folder >= 0 else { throw SystemError(errno) }
    return OpenFile(folder)
  }

  /// Opens a new file in this folder that has no name.
  func openNameless() throws(SystemError) -> OpenFile {
    let file = batchwise_open_nameless(number, 0o666)
    guard file >= 0 else { throw SystemError(errno) }
    return OpenFile(file)
  }
}

/// The folders below an output folder: found from its descriptor step by step, without following a
/// link, and a few of them kept open.
final class Subfolders: Sendable {
  /// How many are kept open.
  static let capacity = 16

  private let root: OpenFile
  /// The used ones, the last one first, by their paths.
  private let recent = Mutex<[(path: String, folder: OpenFile)]>([])

  init(of root: OpenFile) { self.root = root }

  /// Finds a folder, and makes it and the ones above it where they are missing, if asked to.
  ///
  /// - Throws: `ENOTDIR` or `ELOOP` where something else than a folder is in the way.
  /// - Complexity: O(1) for one that was used lately, else a system call or two for each part of
  ///   the path.
  func folder(_ path: String?, isMade: Bool) throws(SystemError) -> OpenFile {
    guard let path else { return root }
    if let known = known(path) { return known }
    let bytes = path.utf8
    let slash = bytes.lastIndex(of: UInt8(ascii: "/"))
    let parent = try folder(slash.map { String(Substring(bytes[..<$0])) }, isMade: isMade)
    let name = slash.map { String(Substring(bytes[$0...].dropFirst())) } ?? path
    if isMade, mkdirat(parent.number, name, 0o777) != 0, errno != EEXIST {
      throw SystemError(errno)
    }
    let folder = try parent.openFolder(name)
    recent.withLock {
      if $0.count == Self.capacity { $0.removeLast() }
      $0.insert((path, folder), at: 0)
    }
    return folder
  }

  /// Closes those that are kept open, because one of them may have been removed or replaced.
  func forget() { recent.withLock { $0 = [] } }

  private func known(_ path: String) -> OpenFile? {
    recent.withLock { recent in
      guard let index = recent.firstIndex(where: { $0.path == path }) else { return nil }
      let found = recent.remove(at: index)
      recent.insert(found, at: 0)
      return found.folder
    }
  }
}
