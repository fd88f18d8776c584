// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

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

  /// A moment after every change that the file system has seen so far, and not after any that it
  /// will see.
  ///
  /// All changes within one tick of its clock seem to be made at once, so the file is changed again
  /// until the clock has moved on: at once on new kernels, after some milliseconds on others. Where
  /// a tick is longer than 30 ms, the changes of the tick are taken for later ones.
  init(now file: Int32) throws(SystemError) {
    func change() throws(SystemError) -> FileTime {
      var status = stat()
      guard fchmod(file, 0o600) == 0, fstat(file, &status) == 0 else { throw SystemError(errno) }
      return FileTime(changeOf: status)
    }
    let first = try change()
    var now = try change()
    for _ in 0..<30 where now == first {
      usleep(1000)
      now = try change()
    }
    self = now
  }

  static func < (left: FileTime, right: FileTime) -> Bool {
    (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
  }
}
