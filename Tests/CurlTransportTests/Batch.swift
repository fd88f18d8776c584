// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import CurlTransport
import Synchronization

/// Keeps so many transfers in flight until a list is done: what the downloader does with the seam,
/// as small as can be.
final class Batch: Sendable {
  /// What a batch has come to.
  struct Result: Sendable {
    var ends: [TransferEnd] = []
    var bodies: [[UInt8]] = []
    /// How often `finish(_:)` of one transfer was called from inside that of another.
    var nested = 0
  }

  private struct State {
    var next = 0
    var left: Int
    var result = Result()
    var isFinishing = false
    var whenDone: CheckedContinuation<Result, Never>?
  }

  private let urls: [String]
  // The caller's, who alone decides when it is released.
  private unowned let transport: CurlTransport
  private let state: Mutex<State>

  init(_ urls: [String], transport: CurlTransport) {
    self.urls = urls
    self.transport = transport
    state = Mutex(
      State(
        left: urls.count,
        result: Result(
          ends: Array(repeating: .cancelled, count: urls.count),
          bodies: Array(repeating: [], count: urls.count))))
  }

  /// Fetches the whole list with at most `limit` in flight.
  func run(limit: Int) async -> Result {
    await withCheckedContinuation { continuation in
      state.withLock { $0.whenDone = continuation }
      transport.start((0..<limit).compactMap { _ in next() })
    }
  }

  private func next() -> Transfer? {
    let index = state.withLock { state -> Int? in
      guard state.next < urls.count else { return nil }
      state.next += 1
      return state.next - 1
    }
    return index.map { Transfer(url: urls[$0], handler: Item(index: $0, of: self)) }
  }

  private func finish(_ index: Int, _ end: TransferEnd, _ body: [UInt8]) {
    state.withLock { state in
      if state.isFinishing { state.result.nested += 1 }
      state.isFinishing = true
      state.result.ends[index] = end
      state.result.bodies[index] = body
    }
    if let next = next() { transport.start([next]) }
    let (result, continuation) = state.withLock { state in
      state.isFinishing = false
      state.left -= 1
      return (state.result, state.left == 0 ? state.whenDone : nil)
    }
    continuation?.resume(returning: result)
  }

  private final class Item: TransferHandler {
    private let index: Int
    private let batch: Batch
    private let body = Mutex<[UInt8]>([])

    init(index: Int, of batch: Batch) {
      self.index = index
      self.batch = batch
    }

    func receive(head: ResponseHead) -> BodyDecision { .accept }

    func receive(body: UnsafeRawBufferPointer) -> Bool {
      self.body.withLock { $0 += body }
      return true
    }

    func finish(_ end: TransferEnd) {
      batch.finish(index, end, body.withLock { $0 })
    }
  }
}
