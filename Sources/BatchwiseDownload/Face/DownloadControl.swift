// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Looks into a batch while it runs, and steers it.
///
///     let control = DownloadControl()
///     async let files = downloader.downloadAll(urls, to: folder, limit: 3, control: control)
///     for await status in control.statusUpdates { bar.show(status) }
///
/// It belongs to one batch, and may be used from anywhere before, during and after it. What is asked
/// for before the batch begins holds from its beginning.
public final class DownloadControl: Sendable {
  let watcher = RunWatcher()
  let sink: (any EventSink)?
  private let phase = Mutex(Phase.new(Wishes()))

  private struct Wishes: Equatable {
    var isPaused = false
    var isStopped = false
    var isCancelled = false
    var limit: Int?
  }

  private enum Phase {
    /// The batch has not begun. Exits: running, over.
    case new(Wishes)
    /// It is under way. Exit: over.
    case running(DownloadRun)
    /// It has ended. No exit.
    case over(DownloadStatus?)
  }

  /// Makes a control for one batch.
  ///
  /// - Parameter sink: Who is told of everything that happens in the batch; while it is slow, nothing
  ///   further is started.
  public init(reportingTo sink: (any EventSink)? = nil) { self.sink = sink }

  /// One consistent view of the batch; nil before it begins.
  public var status: DownloadStatus? { look().status }

  /// The status whenever it has changed, to its end; a slow reader gets the newest one, and misses
  /// those in between.
  ///
  /// There may be several readers. A reader that is cancelled comes to its end.
  public var statusUpdates: DownloadStatusUpdates { DownloadStatusUpdates(control: self) }

  /// How far the transfers in flight have come, those first that have taken longest.
  ///
  /// - Complexity: O(*n* log *n*) for *n* in flight.
  public func slowestTransfers(atMost count: Int) -> [TransferProgress] {
    run?.slowestTransfers(atMost: count) ?? []
  }

  /// Lets nothing more start until ``resume()``; what is in flight goes on.
  public func pause() {
    change({ $0.isPaused = true }) { $0.pause() }
  }

  /// Lets requests start again.
  public func resume() {
    change({ $0.isPaused = false }) { $0.resume() }
  }

  /// Sets the most in flight at once; 0 lets none start, and what is in flight goes on.
  ///
  /// - Precondition: It is not negative.
  public func setLimit(_ limit: Int) {
    precondition(limit >= 0, "The limit must not be negative, and is \(limit)")
    change({ $0.limit = limit }) { $0.setLimit(limit) }
  }

  /// Begins an orderly stop: nothing more is read or started, and what is in flight goes on.
  ///
  /// The batch then ends with a `CancellationError`, unless everything was done.
  public func stop() {
    change({ $0.isStopped = true }) { $0.stop() }
  }

  /// Ends the batch as soon as possible: nothing more is read or started, and what is in flight is
  /// cancelled and awaited.
  ///
  /// A batch of an `async` call, or a stream, then throws a `CancellationError`, unless a failure came
  /// first or everything was done. One of Dispatch code calls its completion with an outcome for each
  /// request. Before the batch begins it is remembered, and nothing of it starts; after its end it
  /// changes nothing, and neither does another call.
  ///
  /// The call does not wait for what is in flight. It may come from anywhere, from the batch's own
  /// callbacks too.
  ///
  /// - Complexity: O(*n* log *n*), where *n* have been read from the list and are not over.
  public func cancel() {
    change({ $0.isCancelled = true }) { $0.cancel() }
  }

  private var run: DownloadRun? {
    phase.withLock { if case .running(let run) = $0 { run } else { nil } }
  }

  private func change(
    _ wish: (inout Wishes) -> Void, _ act: (DownloadRun) -> Void
  ) {
    let run = phase.withLock { phase -> DownloadRun? in
      switch phase {
      case .new(var wishes):
        wish(&wishes)
        phase = .new(wishes)
        return nil
      case .running(let run): return run
      case .over: return nil
      }
    }
    if let run { act(run) }
  }

  // MARK: - The batch's side

  /// Takes note that the batch begins.
  func begin(_ run: DownloadRun) {
    var granted = Wishes()
    // What is wished for meanwhile is granted in the next round.
    while let wishes = begin(run, if: granted) {
      if let limit = wishes.limit { run.setLimit(limit) }
      if wishes.isPaused { run.pause() } else { run.resume() }
      if wishes.isStopped { run.stop() }
      if wishes.isCancelled { run.cancel() }
      granted = wishes
    }
    watcher.note()
  }

  /// Hands the run over to those who use the control, or returns what they wish for besides.
  private func begin(_ run: DownloadRun, if granted: Wishes) -> Wishes? {
    phase.withLock { phase in
      guard case .new(let wishes) = phase else {
        preconditionFailure("A control belongs to one batch; make another one for another batch")
      }
      if wishes != granted { return wishes }
      phase = .running(run)
      return nil
    }
  }

  /// Takes note that the batch has ended, or will never begin.
  func end() {
    phase.withLock { phase in
      if case .running(let run) = phase { phase = .over(run.status) } else { phase = .over(nil) }
    }
    watcher.note()
  }

  fileprivate func look() -> (status: DownloadStatus?, isOver: Bool) {
    phase.withLock { phase in
      switch phase {
      case .new: (nil, false)
      case .running(let run): (run.status, false)
      case .over(let status): (status, true)
      }
    }
  }
}

/// The status of a batch whenever it has changed, from ``DownloadControl/statusUpdates``.
public struct DownloadStatusUpdates: AsyncSequence, Sendable {
  fileprivate let control: DownloadControl

  /// Begins to look.
  public func makeAsyncIterator() -> Iterator { Iterator(control: control) }

  /// One reader, which remembers only what it has seen last.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let control: DownloadControl
    private var last: DownloadStatus?

    fileprivate init(control: DownloadControl) { self.control = control }

    /// The newest status, once something has changed; nil at the end, and when the reader is
    /// cancelled.
    public mutating func next() async -> DownloadStatus? {
      await next(isolation: #isolation)
    }

    /// The newest status, once something has changed; nil at the end, and when the reader is
    /// cancelled.
    public mutating func next(isolation: isolated (any Actor)?) async -> DownloadStatus? {
      while !Task.isCancelled {
        let (status, isOver) = control.look()
        if let status, status != last {
          last = status
          return status
        }
        if isOver { return nil }
        await control.watcher.wait { [control, last] in
          let now = control.look()
          return now.isOver || now.status != last
        }
      }
      return nil
    }
  }
}
