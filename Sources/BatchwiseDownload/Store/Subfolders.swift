// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// An open folder, closed when nobody holds it any more.
final class FolderDescriptor: Sendable {
  let number: Int32

  /// Takes over an open descriptor.
  init(owning number: Int32) { self.number = number }

  deinit { close(number) }

  /// Opens a folder in this one, which must be no link to one.
  func openFolder(_ name: String) throws(SystemError) -> FolderDescriptor {
    let folder = openat(number, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard folder >= 0 else { throw SystemError(errno) }
    return FolderDescriptor(owning: folder)
  }
}

/// The folders below an output folder: found from its descriptor step by step, without following a
/// link, and a few of them kept open.
final class Subfolders: Sendable {
  /// How many are kept open.
  static let capacity = 16

  private let root: FolderDescriptor
  /// The used ones, the last one first, by their paths.
  private let recent = Mutex<[(path: String, folder: FolderDescriptor)]>([])

  init(of root: FolderDescriptor) { self.root = root }

  /// Finds a folder, and makes it and the ones above it where they are missing, if asked to.
  ///
  /// - Throws: `ENOTDIR` or `ELOOP` where something else than a folder is in the way.
  /// - Complexity: O(1) for one that was used lately, else a system call or two for each part of
  ///   the path.
  func folder(_ path: String?, isMade: Bool) throws(SystemError) -> FolderDescriptor {
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

  private func known(_ path: String) -> FolderDescriptor? {
    recent.withLock { recent in
      guard let index = recent.firstIndex(where: { $0.path == path }) else { return nil }
      let found = recent.remove(at: index)
      recent.insert(found, at: 0)
      return found.folder
    }
  }
}
