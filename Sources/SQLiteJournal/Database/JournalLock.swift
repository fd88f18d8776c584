// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// The right to write a journal: a locked file beside it, which one run has at a time.
///
/// The lock belongs to the open file, so it ends with the process however that ends. It is not laid
/// onto the journal itself, for whoever closes a file gives up SQLite's own locks on it.
final class JournalLock: Sendable {
  private let path: String
  private let descriptor: Int32

  /// Locks the file for a journal, or refuses at once if somebody else has.
  init(for path: String, name: String) throws(JournalError) {
    self.path = path + Self.suffix
    while true {
      let file = open(self.path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o666)
      guard file >= 0 else { throw Self.failure(name, SystemError(errno)) }
      guard Self.lock(file) else {
        let error = SystemError(errno)
        let holder = Self.holder(file)
        close(file)
        guard error.code == EAGAIN || error.code == EACCES else {
          throw Self.failure(name, error)
        }
        throw JournalError(
          .inUse,
          "The journal \(name) is in use by another run\(holder.map { " (process \($0))" } ?? ""). "
            + "Wait until that has ended, or give this one another folder or another --journal.")
      }
      // Whoever had it before may have removed it in the instant before it was locked here.
      if Self.isStill(file, at: self.path) {
        descriptor = file
        break
      }
      close(file)
    }
    // For people only, so that a full disk is no matter.
    let mine = Array("\(getpid())\n".utf8)
    _ = ftruncate(descriptor, 0)
    _ = pwrite(descriptor, mine, mine.count, 0)
  }

  deinit {
    // Unless somebody has removed it, and another run has made one of its own since.
    if Self.isStill(descriptor, at: path) { unlink(path) }
    close(descriptor)
  }

  /// Whether a run has the journal's lock; takes and changes nothing.
  static func isHeld(for path: String) -> Bool {
    let file = open(path + suffix, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { return false }
    defer { close(file) }
    var region = wholeFile
    return fcntl(file, getLock, &region) == 0 && region.l_type != Int16(F_UNLCK)
  }

  // MARK: -

  static let suffix = "-lock"

  // Locks of an open file, not of a process: they also part two runs in one process, and closing
  // another descriptor does not end them. Swift's modules leave their numbers out.
  #if canImport(Darwin)
    private static let setLock: Int32 = 90
    private static let getLock: Int32 = 92
  #else
    private static let setLock: Int32 = 37
    private static let getLock: Int32 = 36
  #endif

  private static var wholeFile: flock {
    var region = flock()
    region.l_type = Int16(F_WRLCK)
    region.l_whence = Int16(SEEK_SET)
    return region
  }

  private static func lock(_ file: Int32) -> Bool {
    var region = wholeFile
    return fcntl(file, setLock, &region) == 0
  }

  private static func holder(_ file: Int32) -> Int? {
    var text = [UInt8](repeating: 0, count: 32)
    let count = pread(file, &text, text.count, 0)
    guard count > 0 else { return nil }
    return Int(String(decoding: text[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
  }

  private static func isStill(_ file: Int32, at path: String) -> Bool {
    var mine = stat()
    var named = stat()
    return fstat(file, &mine) == 0 && lstat(path, &named) == 0 && mine.st_ino == named.st_ino
      && mine.st_dev == named.st_dev
  }

  private static func failure(_ name: String, _ error: SystemError) -> JournalError {
    error.meansFull ? .diskFull(name) : .unusable(name, error.description)
  }
}
