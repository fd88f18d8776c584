// SPDX-License-Identifier: Apache-2.0

internal import Batchwise
internal import BatchwiseDownload
internal import Foundation
internal import Synchronization

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// One transfer and the task that carries it.
///
/// It is `@unchecked Sendable` because all that changes in it is touched by operations of one serial queue
/// alone, but for the flag of a cancellation, which is atomic.
final class CarriedTransfer: @unchecked Sendable {
  let handler: any TransferHandler

  private let url: String
  private let task: URLSessionDataTask
  private let calls: OperationQueue
  private let timeouts: TransferTimeouts
  private let isCancelled = Atomic<Bool>(false)

  private var head = HeadReader()
  private var framing = BodyFraming.untilClose
  private var decision: BodyDecision?
  private var isDecoded = false
  private var received: Int64 = 0
  private var stop: Stop?
  private var heard = Duration.zero
  private var whenLate: Alarm.ID?
  private var whenSilent: Alarm.ID?

  private static let alarm = Alarm.shared(for: ContinuousClock())

  /// A body that is not wanted is read past up to this length, so that its connection lives on.
  private static let discardedBytes: Int64 = 64 * 1024

  /// Why this side has ended the transfer before the session would have.
  private enum Stop: Equatable {
    case refused
    case enough
    case broken(String)
    case encoded
    case idle
    case late
  }

  init(_ transfer: Transfer, _ task: URLSessionDataTask, on calls: OperationQueue) {
    handler = transfer.handler
    url = transfer.url
    timeouts = transfer.timeouts
    self.task = task
    self.calls = calls
  }

  /// Ends the transfer, from whatever thread.
  ///
  /// Whoever calls may hold a lock, so the task is told from elsewhere: on Linux that may block.
  func cancel() {
    isCancelled.store(true, ordering: .sequentiallyConsistent)
    calls.addOperation { [task] in task.cancel() }
  }

  private func end(with reason: Stop) {
    guard !isOver else { return }
    stop = reason
    task.cancel()
  }

  /// Whether the handler hears no more but the end.
  private var isOver: Bool { stop != nil || isCancelled.load(ordering: .sequentiallyConsistent) }
}

// MARK: The answer

extension CarriedTransfer {
  /// Takes the head of an answer, which may be an interim one, or one that is known already.
  func receive(_ response: URLResponse) {
    guard !isOver, !head.isComplete, let response = response as? HTTPURLResponse else { return }
    heard = Self.alarm.now
    switch head.read(response) {
    case .more: break
    case .broken(let what): end(with: .broken(what))
    case .head(let head):
      isDecoded = response.isDecoded
      // What was kept of a file is not given up for a body that is not going to be used.
      if isDecoded && 200..<300 ~= head.status { return end(with: .encoded) }
      framing = head.framing
      let decision = handler.receive(head: head)
      self.decision = decision
      switch decision {
      case .accept: if isDecoded { end(with: .encoded) }
      case .discard: if !isShort(head.framing) { end(with: .enough) }
      }
    }
  }

  /// Takes the head of an answer that is over: on Linux a redirect that leads nowhere is told by nothing
  /// else, and its body not at all.
  func receive(late response: URLResponse) {
    if head.isComplete { return }
    receive(response)
    endAsItIs()
  }

  /// Takes the answer for whole, as far as it has come.
  func endAsItIs() {
    if head.isComplete { end(with: .enough) }
  }

  func receive(_ data: Data) {
    guard !isOver else { return }
    heard = Self.alarm.now
    guard let decision else { return end(with: .broken("it has a body before its head is over")) }
    received += Int64(data.count)
    switch decision {
    case .discard: if received > Self.discardedBytes { end(with: .enough) }
    case .accept:
      // Its bytes may lie in several pieces.
      for region in data.regions where !isOver && !region.isEmpty {
        if !region.withUnsafeBytes(handler.receive(body:)) { end(with: .refused) }
      }
    }
  }

  /// Whether it is worth while to read past a body that nobody wants.
  private func isShort(_ framing: BodyFraming) -> Bool {
    switch framing {
    case .length(let count): count <= Self.discardedBytes
    case .chunked: true
    case .untilClose: false
    }
  }
}

// MARK: Timeouts

extension CarriedTransfer {
  func begin() {
    // Whoever has cancelled it ends its task too.
    if isOver { return }
    heard = Self.alarm.now
    if let total = timeouts.total { whenLate = set(at: heard + total) { $0.end(with: .late) } }
    watchSilence()
    task.resume()
  }

  func stopTimers() {
    for alarm in [whenLate, whenSilent].compactMap({ $0 }) { Self.alarm.cancel(alarm) }
  }

  /// Looks at the time when nothing may have come for too long.
  private func watchSilence() {
    let idle = timeouts.idle.roundedUpToSeconds
    whenSilent = set(at: heard + idle) { carried in
      if Self.alarm.now >= carried.heard + idle {
        carried.end(with: .idle)
      } else {
        carried.watchSilence()
      }
    }
  }

  private func set(
    at deadline: Duration, _ action: @escaping @Sendable (CarriedTransfer) -> Void
  ) -> Alarm.ID {
    Self.alarm.set(at: deadline) { [weak self] in
      guard let self else { return }
      calls.addOperation { action(self) }
    }
  }
}

extension Duration {
  /// At least one second.
  fileprivate var roundedUpToSeconds: Duration {
    .seconds(max(1, components.seconds + (components.attoseconds > 0 ? 1 : 0)))
  }
}

// MARK: The end

extension CarriedTransfer {
  /// What the handler is told, now that the session is done with the task.
  func end(after error: (any Error)?) -> TransferEnd {
    if isCancelled.load(ordering: .sequentiallyConsistent) { return .cancelled }
    // The session ends with the transport, and cancels what it carries.
    if stop == nil, (error as? URLError)?.code == .cancelled { return .cancelled }
    let host = Address.host(of: url)
    switch stop {
    case .refused: return .cancelled
    case .enough: return wholeAnswer
    case .broken(let what): return .failed(.brokenAnswer(of: host, what))
    case .encoded: return .failed(.encodedAnswer(of: host))
    case .late: return .failed(.late(host))
    case .idle: return .failed(.silent(host))
    case nil: break
    }
    // Whether the rest of an unwanted body arrives whole is of no interest.
    if decision == .discard { return wholeAnswer }
    if let error { return .failed(.transfer(from: host, error, hasHead: head.isComplete)) }
    guard head.isComplete else { return .failed(.brokenAnswer(of: host, "it has no end")) }
    if case .length(let count) = framing, count != received, head.location == nil {
      return .failed(.cutOff(host))
    }
    return wholeAnswer
  }

  private var wholeAnswer: TransferEnd {
    guard let location = head.location else { return .complete }
    guard let target = Address.resolve(location, against: url) else {
      let host = Address.host(of: url)
      return .failed(
        DownloadFailure(.redirect, "\(host) redirects to an address that cannot be read"))
    }
    return .redirect(to: target)
  }
}
