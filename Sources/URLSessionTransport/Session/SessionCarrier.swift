// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import Dispatch
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

  private let queue = DispatchQueue(label: "batchwise.urlsession")
  private let table = Mutex(Table())
  private static let isCarrier = DispatchSpecificKey<ObjectIdentifier>()

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
    calls.maxConcurrentOperationCount = 1
    calls.underlyingQueue = queue
    queue.setSpecific(key: Self.isCarrier, value: ObjectIdentifier(self))
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
    let isInHandler = DispatchQueue.getSpecific(key: Self.isCarrier) == ObjectIdentifier(self)
    calls.addOperations([last], waitUntilFinished: !isInHandler)
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
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
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
    completionHandler: @escaping (URLRequest?) -> Void
  ) {
    let carried = carried(by: task)
    carried?.receive(response)
    // What the redirect's own body says is of no interest.
    carried?.endAsItIs()
    #if !canImport(FoundationNetworking)
      completionHandler(nil)
    #endif
    // On Linux the answer to this question ends the process if the task was cancelled in between, so it
    // is never given.
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler:
      @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
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
