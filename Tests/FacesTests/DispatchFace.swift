// SPDX-License-Identifier: Apache-2.0

import BatchwiseDispatch
import Dispatch

/// A bounded Dispatch queue, with one of the two kinds of work.
struct DispatchFace: AdjustableFace {
  enum Kind {
    case blocks, callbacks
  }

  private let kind: Kind
  /// Blocks that are held park their threads, so they are kept apart from those where tasks run.
  private let queue: BoundedDispatchQueue

  init(limit: Int, kind: Kind) {
    self.kind = kind
    queue = BoundedDispatchQueue(label: "face", limit: limit, qos: .utility)
  }

  func add(_ job: Job) {
    switch kind {
    case .blocks: queue.async { job.runBlocking() }
    case .callbacks: queue.async { done in job.start { done() } }
    }
  }

  func cancelAll() { queue.cancelWaiting() }

  func idle() async {
    await withCheckedContinuation { continuation in
      queue.notify(queue: .global()) { continuation.resume() }
    }
  }

  func setLimit(_ limit: Int) { queue.setLimit(limit) }

  var status: FaceStatus {
    let status = queue.status
    return FaceStatus(limit: status.limit, inFlight: status.inFlight, waiting: status.waiting)
  }
}
