// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDispatch
internal import Synchronization

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// One attempt in flight: follows its redirects within one origin, and writes its partial file.
///
/// All of it happens on the transport's thread, call after call; the lock only proves that to the
/// compiler, and lets an observer look. How the attempt ended is told to its run once.
final class Download: TransferHandler {
  let job: DownloadJob
  private let run: DownloadRun
  private let state: Mutex<DownloadAttempt>
  /// Whether nobody wants it any more.
  let isAbandoned = Atomic<Bool>(false)

  init(_ job: DownloadJob, of run: DownloadRun) {
    self.job = job
    self.run = run
    state = Mutex(DownloadAttempt(job, of: run.context))
  }

  /// The request to begin with; nil if it has to wait for room in memory, and then goes on by itself.
  func firstTransfer() -> Transfer? {
    if let store = run.context.destination.store {
      return transfer(in: store, of: job.item.source.size)
    }
    return transfer(state.withLock { $0.begin() })
  }

  /// The request, if there is room for what it brings; if there is none, it is sent later.
  private func transfer(in store: BodyStore, of length: Int64?) -> Transfer? {
    let reserved = store.reserve(length, for: job.id) { [self] reserved in
      if let reserved {
        run.request([transfer(in: store, reserved: reserved)], for: [self])
      } else {
        run.ended(self, .left(resume: nil))
      }
    }
    if let reserved { return transfer(in: store, reserved: reserved) }
    // Whoever has abandoned it before it waited found nothing to end.
    if isAbandoned.load(ordering: .sequentiallyConsistent) { store.cancel(job.id) }
    return nil
  }

  private func transfer(in store: BodyStore, reserved: Int) -> Transfer {
    transfer(state.withLock { $0.begin(in: store, reserved: reserved) })
  }

  private func transfer(_ request: DownloadAttempt.Request) -> Transfer {
    Transfer(
      url: request.address.absolute, headers: request.headers, usesNetrc: request.usesNetrc,
      timeouts: run.context.options.timeouts, handler: self)
  }

  func receive(head: ResponseHead) -> BodyDecision {
    state.withLock { $0.receive(head) }
  }

  func receive(body: UnsafeRawBufferPointer) -> Bool {
    run.countReceived(body.count)
    let (goesOn, kept) = state.withLock { state in (state.receive(body), state.takeKept()) }
    if let kept { run.kept(self, kept) }
    return goesOn
  }

  func finish(_ end: TransferEnd) {
    switch state.withLock({ $0.step(after: end) }) {
    case .request(let request): run.request([transfer(request)], for: [self])
    case .wait(let length):
      guard let store = run.context.destination.store,
        !isAbandoned.load(ordering: .sequentiallyConsistent)
      else { return run.ended(self, .left(resume: nil)) }
      if let transfer = transfer(in: store, of: length) { run.request([transfer], for: [self]) }
    case .end(let outcome): run.ended(self, outcome)
    case .whole: finishWhole()
    }
  }

  /// Looks at the digests of a whole file, now or when they are known.
  private func finishWhole() {
    let (digest, body) = state.withLock { ($0.digest, $0.comparedBody) }
    if let body { return compare(body) }
    guard let digest else { return run.ended(self, outcome(of: .success([]))) }
    // What comes later finds this lock free, and the permit given back.
    let known = digest.finish { [self] result in run.judged(self, judge(result)) }
    if let known {
      run.ended(self, outcome(of: known))
    } else {
      run.ended(self, .whole(nil))
    }
  }

  /// Where digests of bodies in memory are made that are too long for the transport's thread.
  private static let comparing = BoundedDispatchQueue(
    label: "batchwise.checksum", limit: max(1, ProcessInfo.processInfo.activeProcessorCount - 1))

  /// Makes the digest that a body in memory is compared by.
  private func compare(_ body: Data) {
    guard let maker = run.context.digests, let wanted = job.item.source.checksum else {
      return run.ended(self, outcome(of: .success([])))
    }
    let digest: @Sendable () -> BodyDigest.Outcome = {
      let digest = maker.makeDigest(wanted.algorithm)
      body.withUnsafeBytes { digest.update($0) }
      return .success([digest.finish()])
    }
    if body.count <= BodyDigest.atOnce { return run.ended(self, outcome(of: digest())) }
    run.ended(self, .whole(nil))
    Self.comparing.async { [self] in run.judged(self, judge(digest())) }
  }

  private func outcome(of digests: BodyDigest.Outcome) -> DownloadState.Outcome {
    switch judge(digests) {
    case .success(let file): .whole(file)
    case .failure(let failure): .failed(failure, resume: nil)
    }
  }

  private func judge(_ digests: BodyDigest.Outcome) -> Result<WholeFile, DownloadFailure> {
    Result { () throws(DownloadFailure) in
      try state.withLock { state throws(DownloadFailure) in try state.whole(digests) }
    }
  }

  /// How far it has come, for an observer.
  var progress: TransferProgress {
    state.withLock { state in
      TransferProgress(
        id: job.id, url: job.item.address.redacted, name: job.path.description,
        received: state.size, total: state.total, duration: .now - state.startedAt)
    }
  }
}
