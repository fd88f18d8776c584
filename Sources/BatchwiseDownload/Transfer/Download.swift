// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// One attempt in flight: follows its redirects within one origin, and writes its partial file.
///
/// All of it happens on the transport's thread, call after call; the lock only proves that to the
/// compiler, and lets an observer look. How the attempt ended is told to its run once.
final class Download: TransferHandler {
  let job: DownloadJob
  private let run: BatchDownloader
  private let state: Mutex<DownloadAttempt>

  init(_ job: DownloadJob, of run: BatchDownloader) {
    self.job = job
    self.run = run
    state = Mutex(DownloadAttempt(job, of: run.context))
  }

  /// The request to begin with.
  func firstTransfer() -> Transfer { transfer(state.withLock { $0.begin() }) }

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
    case .end(let outcome): run.ended(self, outcome)
    case .whole: finishWhole()
    }
  }

  /// Looks at the digests of a whole file, now or when they are known.
  private func finishWhole() {
    let digest = state.withLock { $0.digest }
    guard let digest else { return run.ended(self, outcome(of: .success([]))) }
    // What comes later finds this lock free, and the permit given back.
    let known = digest.finish { [self] result in run.judged(self, judge(result)) }
    if let known {
      run.ended(self, outcome(of: known))
    } else {
      run.ended(self, .whole(nil))
    }
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
        url: job.item.address.redacted, name: job.path.description, received: state.size,
        total: state.total, duration: .now - state.startedAt)
    }
  }
}
