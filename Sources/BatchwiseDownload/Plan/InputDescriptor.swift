// SPDX-License-Identifier: Apache-2.0

internal import Dispatch

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// A list's descriptor, read on a queue of its own because a read may block for ever.
final class InputDescriptor: Sendable {
  private static let blockSize = 65_536
  private let descriptor: Int32
  private let closes: Bool
  private let queue = DispatchQueue(label: "batchwise.list")
  private let wake: Result<WakePipe, SystemError>

  init(_ descriptor: Int32, closes: Bool) {
    self.descriptor = descriptor
    self.closes = closes
    wake = Result { () throws(SystemError) in try WakePipe() }
  }

  deinit {
    if closes { close(descriptor) }
  }

  /// The next bytes as soon as there are some, or none at the end.
  ///
  /// - Throws: A ``SystemError``, or a `CancellationError` when the calling task is cancelled, and
  ///   from then on.
  func nextBytes() async throws -> [UInt8] {
    let wake = try wake.get()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        queue.async { [self] in
          continuation.resume(with: Result { try readBlocking(unless: wake) })
        }
      }
    } onCancel: {
      wake.raise()
    }
  }

  private func readBlocking(unless wake: WakePipe) throws -> [UInt8] {
    while true {
      var waits = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: wake.readingEnd, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&waits, 2, -1) >= 0 || errno == EINTR else { throw SystemError(errno) }
      if waits[1].revents != 0 { throw CancellationError() }
      if waits[0].revents == 0 { continue }
      var count = 0
      let bytes = [UInt8](unsafeUninitializedCapacity: Self.blockSize) { buffer, used in
        count = read(descriptor, buffer.baseAddress, buffer.count)
        used = max(count, 0)
      }
      if count >= 0 { return bytes }
      // Another process may have made the shared descriptor non-blocking.
      guard errno == EINTR || errno == EAGAIN else { throw SystemError(errno) }
    }
  }
}

/// A pipe whose first byte is never read, so that it ends every present and later wait.
private final class WakePipe: Sendable {
  let readingEnd: Int32
  private let writingEnd: Int32

  init() throws(SystemError) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw SystemError(errno) }
    (readingEnd, writingEnd) = (ends[0], ends[1])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    // A full pipe has said enough.
    _ = fcntl(writingEnd, F_SETFL, O_NONBLOCK)
  }

  deinit {
    close(readingEnd)
    close(writingEnd)
  }

  func raise() { _ = write(writingEnd, "!", 1) }
}
