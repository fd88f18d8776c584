// SPDX-License-Identifier: Apache-2.0

public import BatchwiseDownload
internal import Synchronization

/// Carries transfers with libcurl, all of them on one thread.
///
/// The thread begins with the transport and ends with it. It keeps connections open and uses them
/// again, speaks HTTP/1.1, sends no request but GET and follows no redirect; it finds proxies
/// in the environment (`http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`) when it is made.
///
/// Handlers are called on the thread that carries everything, so they must not wait in it.
///
/// Releasing the transport cancels what is in flight, tells the handlers so, and returns when the
/// thread has ended; do not release it while holding a lock that a handler takes. A handler may
/// itself hold the last reference.
public final class CurlTransport: Transport {
  private let loop: CurlLoop
  private let thread: LoopThread

  /// Starts a transport.
  ///
  /// - Parameter userAgent: What requests say they come from; without it they say nothing.
  /// - Throws: `CurlTransportError` if the process has run out of descriptors, memory or threads.
  public convenience init(userAgent: String? = nil) throws(CurlTransportError) {
    try self.init(userAgent: userAgent, driver: .preferred, proxies: .ofEnvironment())
  }

  package init(
    userAgent: String? = nil, driver: Driver, proxies: ProxySettings = ProxySettings()
  ) throws(CurlTransportError) {
    loop = try CurlLoop(driver: driver, userAgent: userAgent, proxies: proxies)
    thread = try LoopThread(running: loop)
  }

  deinit {
    loop.inbox.close()
    if thread.isCurrent { thread.detach() } else { thread.join() }
  }

  /// Begins every transfer and returns at once, without blocking.
  ///
  /// - Complexity: O(1); the loop is woken at most once.
  public func start(_ transfers: [Transfer]) {
    if !transfers.isEmpty { post(.start(transfers)) }
  }

  /// Ends the handler's transfer as soon as possible, with `finish(.cancelled)` as its last call.
  ///
  /// - Complexity: O(1).
  public func cancel(_ handler: any TransferHandler) {
    post(.cancel(handler))
  }

  private func post(_ command: Inbox.Command) {
    if thread.isCurrent { loop.post(command) } else { loop.inbox.post(command) }
  }

  /// How often the loop has waited so far: next to never while nothing happens.
  package var rounds: Int { loop.rounds.load(ordering: .relaxed) }
}

extension CurlTransport {
  /// What a loop waits with.
  package enum Driver: Sendable, CaseIterable {
    #if os(Linux)
      case epoll
    #endif
    case poll

    package static var preferred: Driver {
      #if os(Linux)
        .epoll
      #else
        .poll
      #endif
    }

    func make(for multi: UnsafeMutableRawPointer) throws(CurlTransportError) -> any LoopDriver {
      switch self {
      #if os(Linux)
        case .epoll: try EpollDriver(multi: multi)
      #endif
      case .poll: PollDriver(multi: multi)
      }
    }
  }
}
