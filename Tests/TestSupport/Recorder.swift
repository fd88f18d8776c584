// SPDX-License-Identifier: Apache-2.0

public import BatchwiseDownload
internal import Synchronization

/// A handler that writes down what it is told.
///
/// It minds the order in which it is told, and ends the tests if that is wrong: none after it could be
/// trusted.
public final class Recorder: TransferHandler {
  /// What a transfer has come to.
  public struct Answer: Sendable {
    /// The head, once it was told.
    public var head: ResponseHead?
    /// What has come of the body.
    public var bytes: [UInt8] = []
    /// How it ended, once it has.
    public var end: TransferEnd?

    /// The body as text.
    public var body: String { String(decoding: bytes, as: UTF8.self) }
  }

  private struct State {
    var answer = Answer()
    var waiting: [CheckedContinuation<Answer, Never>] = []
  }

  private let state = Mutex(State())
  private let decision: BodyDecision
  private let onHead: @Sendable (Recorder) -> Void
  private let onBody: @Sendable (Recorder) -> Bool
  private let onFinish: @Sendable (Recorder, TransferEnd) -> Void

  /// Makes a recorder that decides, and does something more at each call.
  public init(
    decision: BodyDecision = .accept,
    onHead: @escaping @Sendable (Recorder) -> Void = { _ in },
    onBody: @escaping @Sendable (Recorder) -> Bool = { _ in true },
    onFinish: @escaping @Sendable (Recorder, TransferEnd) -> Void = { _, _ in }
  ) {
    self.decision = decision
    self.onHead = onHead
    self.onBody = onBody
    self.onFinish = onFinish
  }

  /// Writes the head down.
  public func receive(head: ResponseHead) -> BodyDecision {
    state.withLock { state in
      precondition(state.answer.head == nil, "the head came twice")
      precondition(state.answer.end == nil, "the head came after the end")
      state.answer.head = head
    }
    onHead(self)
    return decision
  }

  /// Writes the bytes down.
  public func receive(body: UnsafeRawBufferPointer) -> Bool {
    state.withLock { state in
      precondition(state.answer.head != nil, "the body came before the head")
      precondition(state.answer.end == nil, "the body came after the end")
      precondition(!body.isEmpty, "an empty piece of a body came")
      state.answer.bytes += body
    }
    return onBody(self)
  }

  /// Writes the end down, and tells those who wait for it.
  public func finish(_ end: TransferEnd) {
    let (answer, waiting) = state.withLock { state in
      precondition(state.answer.end == nil, "the end came twice")
      state.answer.end = end
      defer { state.waiting = [] }
      return (state.answer, state.waiting)
    }
    onFinish(self, end)
    for continuation in waiting { continuation.resume(returning: answer) }
  }

  /// What has been told so far.
  public var soFar: Answer { state.withLock { $0.answer } }

  /// The whole answer, as soon as the transfer has ended.
  public var answer: Answer {
    get async {
      await withCheckedContinuation { continuation in
        let answer = state.withLock { state -> Answer? in
          if state.answer.end == nil { state.waiting.append(continuation) }
          return state.answer.end == nil ? nil : state.answer
        }
        if let answer { continuation.resume(returning: answer) }
      }
    }
  }
}

/// A host that is nowhere, which the system knows without asking anybody: a part of its name is longer
/// than any may be.
///
/// Resolvers answer for other names as they please, and when they please.
public func nowhere(_ number: Int = 0) -> String {
  String(repeating: "x", count: 64) + "\(number).invalid"
}

extension Transport {
  /// Fetches one address and returns what its handler was told.
  public func fetch(
    _ url: String, timeouts: TransferTimeouts = TransferTimeouts(),
    recorder: Recorder = Recorder()
  ) async -> Recorder.Answer {
    start([Transfer(url: url, timeouts: timeouts, handler: recorder)])
    return await recorder.answer
  }
}

extension TransferEnd {
  /// What may help against a failure; nothing if it is none.
  public var remedy: DownloadFailure.Remedy? {
    if case .failed(let failure) = self { failure.remedy } else { nil }
  }

  /// What a failure says; nothing if it is none.
  public var message: String? {
    if case .failed(let failure) = self { failure.message } else { nil }
  }

  /// The reason of a failure; nothing if it is none.
  public var reason: DownloadFailure.Reason? {
    if case .failed(let failure) = self { failure.reason } else { nil }
  }
}
