// SPDX-License-Identifier: Apache-2.0

public import BatchwiseDownload
public import BatchwiseTesting
internal import Synchronization

/// A transport without a network: each address is answered by a closure, in a task of its own.
///
/// Cancelling a transfer cancels the closure's task; whatever it then returns, the transfer ends as
/// cancelled. It counts what is in flight by itself, as a witness against its caller.
public final class FakeTransport: Transport {
  /// What a request is answered with.
  public enum Answer: Sendable {
    /// A head and a body that arrives in one piece.
    case body(ResponseHead, [UInt8])
    /// A head and a body that arrives in pieces, and how the transfer ends after them.
    case pieces(ResponseHead, [[UInt8]], then: TransferEnd = .complete)
    /// An end, after a head or without an answer.
    case end(TransferEnd, ResponseHead? = nil)
  }

  /// What has happened so far.
  public struct Record: Sendable {
    /// The addresses of all requests, in the order in which they were begun.
    public var urls: [String] = []
    /// How many requests are in flight.
    public var inFlight = 0
    /// The most requests that were in flight at one moment.
    public var peak = 0
  }

  /// What has happened so far, to look at or to wait for.
  public let record = Watched(Record())

  private let answer: @Sendable (String) async -> Answer
  private let tasks = Mutex<[ObjectIdentifier: Task<Void, Never>]>([:])

  /// Makes a transport that answers as the closure says.
  public init(_ answer: @escaping @Sendable (_ url: String) async -> Answer) {
    self.answer = answer
  }

  /// Begins a task for each transfer.
  public func start(_ transfers: [Transfer]) {
    for transfer in transfers {
      record.update { record in
        record.urls.append(transfer.url)
        record.inFlight += 1
        record.peak = max(record.peak, record.inFlight)
      }
      let id = ObjectIdentifier(transfer.handler)
      tasks.withLock { tasks in
        tasks[id] = Task {
          let end = deliver(await answer(transfer.url), to: transfer.handler)
          self.tasks.withLock { $0[id] = nil }
          record.update { $0.inFlight -= 1 }
          transfer.handler.finish(end)
        }
      }
    }
  }

  /// Cancels the task of the handler's transfer.
  public func cancel(_ handler: any TransferHandler) {
    tasks.withLock { $0[ObjectIdentifier(handler)] }?.cancel()
  }

  private func deliver(_ answer: Answer, to handler: any TransferHandler) -> TransferEnd {
    switch answer {
    case _ where Task.isCancelled:
      return .cancelled
    case .body(let head, let body):
      return deliver(.pieces(head, [body]), to: handler)
    case .pieces(let head, let pieces, let end):
      guard handler.receive(head: head) == .accept else { return end }
      for piece in pieces where !piece.isEmpty {
        guard piece.withUnsafeBytes(handler.receive(body:)) else { return .cancelled }
      }
      return end
    case .end(let end, let head):
      if let head { _ = handler.receive(head: head) }
      return end
    }
  }
}

extension FakeTransport.Answer {
  /// A whole file whose length is announced.
  public static func file(_ text: String) -> FakeTransport.Answer {
    .body(ResponseHead(status: 200, framing: .length(Int64(text.utf8.count))), Array(text.utf8))
  }

  /// An answer with an empty body and this status.
  public static func status(_ status: Int) -> FakeTransport.Answer {
    .body(ResponseHead(status: status, framing: .length(0)), [])
  }

  /// A redirect.
  public static func redirect(_ status: Int = 302, to url: String) -> FakeTransport.Answer {
    .end(.redirect(to: url), ResponseHead(status: status, framing: .length(0)))
  }
}
