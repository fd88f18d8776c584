// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import Dispatch
internal import Synchronization

/// Writes a run's events as lines of JSON, waiting for a slow reader without blocking a task.
final class EventWriter: Sendable {
  private let stream: OutputStream
  private let queue = DispatchQueue(label: "batchwise.events")
  private let error = Mutex<Int32?>(nil)

  init(to stream: OutputStream) { self.stream = stream }

  /// The error number of the first write that failed, or nil. Nothing is written after it.
  var failure: Int32? { error.withLock { $0 } }

  /// Writes the lines, and returns when the reader has taken them.
  func write(_ lines: [EventLine]) async {
    guard failure == nil else { return }
    await withCheckedContinuation { continuation in
      queue.async { [self] in
        let failure = stream.write(EventLine.encoded(lines))
        error.withLock { $0 = failure }
        continuation.resume()
      }
    }
  }
}
