// SPDX-License-Identifier: Apache-2.0

public import BatchwiseDownload

/// A transport without a network: each address is answered by a closure, in a task of its own.
public struct FakeTransport: Transport {
  /// What a request is answered with: a head and a body, or an end without an answer.
  public enum Answer: Sendable {
    case body(ResponseHead, [UInt8])
    case end(TransferEnd, ResponseHead? = nil)
  }

  private let answer: @Sendable (String) async -> Answer

  public init(_ answer: @escaping @Sendable (_ url: String) async -> Answer) {
    self.answer = answer
  }

  public func start(_ transfers: [Transfer]) {
    for transfer in transfers {
      Task {
        switch await answer(transfer.url) {
        case .body(let head, let body):
          let isWanted = transfer.handler.receive(head: head) == .accept && !body.isEmpty
          let goesOn = !isWanted || body.withUnsafeBytes(transfer.handler.receive(body:))
          transfer.handler.finish(goesOn ? .complete : .cancelled)
        case .end(let end, let head):
          if let head { _ = transfer.handler.receive(head: head) }
          transfer.handler.finish(end)
        }
      }
    }
  }

  public func cancel(_ handler: any TransferHandler) {}
}
