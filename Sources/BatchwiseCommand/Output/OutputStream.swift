// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// A descriptor that text is written to, unbuffered.
struct OutputStream: Sendable {
  static let standardOutput = OutputStream(descriptor: 1)
  static let standardError = OutputStream(descriptor: 2)

  let descriptor: Int32

  /// Whether a person may be looking at it, on a terminal that can move its cursor.
  var isTerminal: Bool {
    isatty(descriptor) == 1 && environment("TERM").map { $0 != "dumb" } ?? false
  }

  /// How many columns and lines the terminal has, or 80 and 24.
  var size: (width: Int, height: Int) {
    var size = winsize()
    let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    return isKnown ? (Int(size.ws_col), max(1, Int(size.ws_row))) : (80, 24)
  }

  /// Whether it leads to a reader that has gone, so that writing on would be of no use.
  var hasLostReader: Bool {
    var state = pollfd(fd: descriptor, events: 0, revents: 0)
    return poll(&state, 1, 0) > 0 && state.revents & Int16(POLLERR | POLLHUP) != 0
  }

  /// Empties the file that it writes, if it is a file.
  func empty() {
    if descriptor > 2 { _ = ftruncate(descriptor, 0) }
  }

  /// Writes all bytes, waiting for a slow reader.
  ///
  /// - Returns: What kept it from writing them all, or nil.
  @discardableResult
  func write(_ bytes: [UInt8]) -> SystemError? {
    bytes.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = writeSome(UnsafeRawBufferPointer(rebasing: rest))
        if count > 0 {
          rest = rest.dropFirst(count)
        } else if errno == EAGAIN {
          // Another process has made the shared descriptor non-blocking.
          var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          poll(&wait, 1, -1)
        } else if errno != EINTR {
          return SystemError(errno)
        }
      }
      return nil
    }
  }

  /// Writes a text in the same way.
  @discardableResult
  func write(_ text: String) -> SystemError? { write(Array(text.utf8)) }

  private func writeSome(_ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Glibc)
      Glibc.write(descriptor, bytes.baseAddress, bytes.count)
    #elseif canImport(Musl)
      Musl.write(descriptor, bytes.baseAddress, bytes.count)
    #elseif canImport(Darwin)
      Darwin.write(descriptor, bytes.baseAddress, bytes.count)
    #endif
  }
}

/// The value of an environment variable, or nil if it has none or an empty one.
func environment(_ name: String) -> String? {
  getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
}
