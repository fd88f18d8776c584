// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import Foundation
internal import Synchronization

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// Stands between a session and the handlers: knows which task carries whose transfer.
///
/// A session calls it on ``calls`` alone, and whatever else happens to a transfer is done there too, so
/// a handler's calls come one after the other.
final class SessionCarrier: NSObject, Sendable {
  /// Where handlers are called, one call at a time.
  let calls = OperationQueue()

  private let table = Mutex(Table())

  private struct Table {
    var byTask: [Int: CarriedTransfer] = [:]
    var taskOfHandler: [ObjectIdentifier: Int] = [:]

    mutating func remove(_ task: Int) -> CarriedTransfer? {
      guard let carried = byTask.removeValue(forKey: task) else { return nil }
      let handler = ObjectIdentifier(carried.handler)
      if taskOfHandler[handler] == task { taskOfHandler[handler] = nil }
      return carried
    }
  }

  override init() {
    super.init()
    calls.name = "batchwise.urlsession"
    calls.maxConcurrentOperationCount = 1
  }

  /// Begins a transfer with a new task.
  func begin(_ transfer: Transfer, _ task: URLSessionDataTask) {
    let carried = CarriedTransfer(transfer, task, on: calls)
    table.withLock { table in
      table.byTask[task.taskIdentifier] = carried
      table.taskOfHandler[ObjectIdentifier(transfer.handler)] = task.taskIdentifier
    }
    calls.addOperation { carried.begin() }
  }

  /// Tells a handler that its transfer cannot be made.
  func refuse(_ transfer: Transfer, _ failure: DownloadFailure) {
    calls.addOperation { transfer.handler.finish(.failed(failure)) }
  }

  func cancel(_ handler: any TransferHandler) {
    let carried = table.withLock { table in
      table.taskOfHandler[ObjectIdentifier(handler)].flatMap { table.byTask[$0] }
    }
    carried?.cancel()
  }

  /// Ends every transfer, whatever becomes of its task; returns when that is done, unless it is called
  /// by a handler.
  func close() {
    let last = BlockOperation { [self] in
      for task in table.withLock({ Array($0.byTask.keys) }) { end(task, after: nil, .cancelled) }
    }
    calls.addOperations([last], waitUntilFinished: OperationQueue.current !== calls)
  }

  private func carried(by task: URLSessionTask) -> CarriedTransfer? {
    table.withLock { $0.byTask[task.taskIdentifier] }
  }

  /// Tells a handler the end, after which it may be used again.
  private func end(_ task: Int, after error: (any Error)?, _ end: TransferEnd? = nil) {
    guard let carried = table.withLock({ $0.remove(task) }) else { return }
    carried.stopTimers()
    carried.handler.finish(end ?? carried.end(after: error))
  }
}

extension SessionCarrier: URLSessionDataDelegate {
  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    carried(by: dataTask)?.receive(response)
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    carried(by: dataTask)?.receive(data)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    #if canImport(FoundationNetworking)
      // Here the redirect's own body is over. The answer to this question ends the process if the task
      // was cancelled in between, so it is never given.
      let carried = carried(by: task)
      carried?.receive(response)
      carried?.endAsItIs()
    #else
      // The redirect is told as any other answer then.
      completionHandler(nil)
    #endif
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler:
      @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    #if canImport(FoundationNetworking)
      // Here only an answer that has come whole asks for a password. To refuse it one would cancel the
      // task, and up to Swift 6.3 the default without one is to wait for ever.
      carried(by: task)?.endAsItIs()
    #else
      let isAboutServer =
        challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust
      completionHandler(isAboutServer ? .performDefaultHandling : .rejectProtectionSpace, nil)
    #endif
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    if error == nil, let response = task.response { carried(by: task)?.receive(late: response) }
    end(task.taskIdentifier, after: error)
  }
}
