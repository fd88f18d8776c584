// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import Dispatch
internal import Synchronization

/// Writes a run's events as lines of JSON, waiting for a slow reader without blocking a task.
final class EventWriter: Sendable {
  let stream: OutputStream
  private let queue = DispatchQueue(label: "batchwise.events")
  private let failure = Mutex<SystemError?>(nil)

  init(to stream: OutputStream) { self.stream = stream }

  /// Writes the lines, and returns when the reader has taken them.
  ///
  /// - Returns: Why the first write failed that did, or nil. Nothing is written after it.
  func write(_ lines: [EventLine]) async -> SystemError? {
    await withCheckedContinuation { continuation in
      queue.async { [self] in
        let failure = failure.withLock { $0 } ?? stream.write(EventLine.encoded(lines))
        self.failure.withLock { $0 = failure }
        continuation.resume(returning: failure)
      }
    }
  }
}
