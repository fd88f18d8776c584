// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// An open file or folder, closed when nobody holds it any more.
final class OpenFile: Sendable {
  let number: Int32

  init(_ number: Int32) { self.number = number }

  deinit { close(number) }

  /// Gives up the lock that is laid onto the file, if there is one.
  func unlock() { flock(number, LOCK_UN) }

  /// Writes all bytes at the end of the file.
  func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    var rest = bytes
    while let start = rest.baseAddress, !rest.isEmpty {
      let count = systemWrite(number, start, rest.count)
      if count > 0 {
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      } else if errno != EINTR {
        throw SystemError(errno)
      }
    }
  }

  /// Reads bytes of the file in pieces, and stops where it ends.
  ///
  /// - Returns: Where it stopped.
  func read(
    from start: Int64, to end: Int64, _ take: (UnsafeRawBufferPointer) -> Void
  ) throws(SystemError) -> Int64 {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 * 1024, alignment: 64)
    defer { buffer.deallocate() }
    var offset = start
    while offset < end {
      let wanted = Int(min(end - offset, Int64(buffer.count)))
      let count = pread(number, buffer.baseAddress, wanted, off_t(offset))
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw SystemError(errno) }
      if count == 0 { break }
      take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      offset += Int64(count)
    }
    return offset
  }
}

private func systemWrite(_ file: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
  write(file, bytes, count)
}
