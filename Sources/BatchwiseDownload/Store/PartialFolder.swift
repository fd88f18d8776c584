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

/// The folder `.batchwise` in the output folder, where partial files lie that have a name, so that
/// nobody mistakes them for downloads.
///
/// A partial file is locked for as long as it is open: a run tells the files of a killed run from
/// those of one that is still under way. One that is to be found again is named after its key.
final class PartialFolder: Sendable {
  private let folder: OpenFile
  private var descriptor: Int32 { folder.number }

  private static let prefix = "partial-"
  private static let serial = Atomic<Int>(0)

  /// Opens the folder, and makes it if it is missing.
  init(in output: OpenFile) throws(SystemError) {
    guard mkdirat(output.number, OutputPath.reserved, 0o777) == 0 || errno == EEXIST else {
      throw SystemError(errno)
    }
    folder = try output.openFolder(OutputPath.reserved)
  }

  /// Whether it has not been removed since it was opened.
  var isThere: Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_nlink > 0
  }

  private static func uniqueName() -> String {
    "\(prefix)\(getpid())-\(serial.add(1, ordering: .relaxed).newValue)"
  }

  /// Makes and locks a new file with a name that no other has.
  func makeUnique() throws(SystemError) -> (OpenFile, name: String?) {
    while true {
      let name = Self.uniqueName()
      let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
      let number = openat(descriptor, name, flags, 0o666)
      if number < 0 {
        if errno == EEXIST { continue }
        throw SystemError(errno)
      }
      let file = OpenFile(number)
      // A run that starts may remove the file in the instant before it is locked.
      if lock(file), isLinked(file) { return (file, name) }
    }
  }

  /// Opens and locks a kept file, at its end; nil if there is none to be had.
  func open(_ name: String) throws(SystemError) -> (OpenFile, size: Int64)? {
    let number = openat(descriptor, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
    guard number >= 0 else {
      if errno == ENOENT || errno == ELOOP { return nil }
      throw SystemError(errno)
    }
    let file = OpenFile(number)
    var status = stat()
    guard lock(file), fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      status.st_nlink > 0, lseek(number, 0, SEEK_END) == status.st_size
    else { return nil }
    return (file, Int64(status.st_size))
  }

  /// The length of a kept file, or nil if there is none.
  func size(of name: String) -> Int64? {
    var status = stat()
    guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
      status.st_mode & S_IFMT == S_IFREG
    else { return nil }
    return Int64(status.st_size)
  }

  /// Gives an open file, which may have another name, one by which it is found again, in place of an
  /// older one.
  func keep(_ file: OpenFile, _ present: String?, as name: String) throws(SystemError) {
    if let present {
      guard renameat(descriptor, present, descriptor, name) == 0 else { throw SystemError(errno) }
      return
    }
    _ = lock(file)
    unlinkat(descriptor, name, 0)
    guard batchwise_link_descriptor(file.number, descriptor, name) == 0 else {
      throw SystemError(errno)
    }
  }

  /// Gives an open file that has no name a passing one.
  func nameForNow(_ file: OpenFile) throws(SystemError) -> String {
    while true {
      let name = Self.uniqueName()
      _ = lock(file)
      if batchwise_link_descriptor(file.number, descriptor, name) == 0 { return name }
      guard errno == EEXIST else { throw SystemError(errno) }
    }
  }

  /// Moves a file to its final place; as the system's calls do, it returns 0 or sets `errno`.
  func move(_ name: String, to folder: Int32, _ finalName: String, _ replaces: Bool) -> Int32 {
    replaces
      ? renameat(descriptor, name, folder, finalName)
      : batchwise_rename_exclusively(descriptor, name, folder, finalName)
  }

  func remove(_ name: String) { unlinkat(descriptor, name, 0) }

  /// Removes what killed runs left behind, but for the files of items that can still go on.
  func removeAbandoned(keeping isWanted: (PartialKey) async -> Bool) async {
    for name in names() {
      if let key = PartialKey(name: name), await isWanted(key) { continue }
      removeUnlocked(name)
    }
  }

  /// Removes a file, unless somebody is writing it.
  func removeUnlocked(_ name: String) {
    let number = openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard number >= 0 else { return }
    let file = OpenFile(number)
    if flock(file.number, LOCK_EX | LOCK_NB) == 0 { remove(name) }
  }

  private func names() -> [String] {
    let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0, let listing = fdopendir(copy) else {
      if copy >= 0 { close(copy) }
      return []
    }
    defer { closedir(listing) }
    var names: [String] = []
    while let entry = readdir(listing) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name.hasPrefix(Self.prefix) { names.append(name) }
    }
    return names
  }

  /// Locks a file; where the file system has no locks, no run removes another's.
  private func lock(_ file: OpenFile) -> Bool {
    flock(file.number, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
  }

  private func isLinked(_ file: OpenFile) -> Bool {
    var status = stat()
    return fstat(file.number, &status) == 0 && status.st_nlink > 0
  }
}
