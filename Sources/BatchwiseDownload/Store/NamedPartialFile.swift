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

/// A partial file that has to have a name, where the file system knows no files without one.
///
/// It lies in `.batchwise` in the output folder, so that nobody mistakes it for a download, and is
/// locked for as long as it is open: the next run tells the files of a killed run from those of a
/// run that is still under way, and removes the former.
struct NamedPartialFile {
  let descriptor: Int32
  let name: String
  private let folder: FolderDescriptor

  private static let prefix = "partial-"
  private static let serial = Atomic<Int>(0)

  /// Makes and locks a new file.
  init(in folder: FolderDescriptor) throws(SystemError) {
    self.folder = folder
    while true {
      let name = Self.freshName()
      let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
      let file = openat(folder.number, name, flags, 0o666)
      if file < 0 {
        if errno == EEXIST { continue }
        throw SystemError(errno)
      }
      // A run that starts may remove the file in the instant before it is locked. Where the file
      // system has no locks, no run removes another's.
      let isRemoved = flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
      var status = stat()
      if !isRemoved, fstat(file, &status) == 0, status.st_nlink > 0 {
        self.descriptor = file
        self.name = name
        return
      }
      close(file)
    }
  }

  /// Gives a name to a file that has none, which is this one's to close from now on.
  init(naming file: Int32, in folder: FolderDescriptor) throws(SystemError) {
    self.folder = folder
    descriptor = file
    // Locked first, so that no run that starts takes it for one that was left behind.
    _ = flock(file, LOCK_EX | LOCK_NB)
    while true {
      let name = Self.freshName()
      if batchwise_link_descriptor(file, folder.number, name) == 0 {
        self.name = name
        return
      }
      guard errno == EEXIST else { throw SystemError(errno) }
    }
  }

  private static func freshName() -> String {
    "\(prefix)\(getpid())-\(serial.add(1, ordering: .relaxed).newValue)"
  }

  /// Moves it to another name, whose place it takes.
  ///
  /// - Returns: 0, or an error with `errno`.
  func replace(_ other: String, in otherFolder: Int32) -> Int32 {
    renameat(folder.number, name, otherFolder, other)
  }

  /// Moves it to another name, unless that is taken.
  ///
  /// - Returns: 0, or an error with `errno`.
  func move(to other: String, in otherFolder: Int32) -> Int32 {
    batchwise_rename_exclusively(folder.number, name, otherFolder, other)
  }

  /// Removes the name and closes the file.
  func remove() {
    unlinkat(folder.number, name, 0)
    close(descriptor)
  }

  /// Removes what killed runs left behind.
  static func removeAbandoned(in folder: FolderDescriptor) {
    let copy = openat(folder.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0, let listing = fdopendir(copy) else {
      if copy >= 0 { close(copy) }
      return
    }
    defer { closedir(listing) }
    while let entry = readdir(listing) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard name.hasPrefix(prefix) else { continue }
      let file = openat(folder.number, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      guard file >= 0 else { continue }
      if flock(file, LOCK_EX | LOCK_NB) == 0 { unlinkat(folder.number, name, 0) }
      close(file)
    }
  }
}
