// SPDX-License-Identifier: Apache-2.0

public import BatchwiseDownload
internal import Synchronization

/// Carries transfers with libcurl, all of them on one thread.
///
/// The thread begins with the transport and ends with it. It keeps connections open and uses them
/// again, sends no request but GET, follows no redirect, and looks each host's name up once however
/// many transfers want it.
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
  /// - Parameter options: How requests are sent.
  /// - Throws: `CurlTransportError` for an option whose value cannot work, which it names, or if the
  ///   process has run out of descriptors, memory or threads.
  public convenience init(options: Options) throws(CurlTransportError) {
    try self.init(options, driver: .preferred, proxies: .ofEnvironment())
  }

  /// Starts a transport that does what is usual.
  ///
  /// - Parameter userAgent: What requests say they come from; without it they say nothing.
  /// - Throws: `CurlTransportError` if the process has run out of descriptors, memory or threads.
  public convenience init(userAgent: String? = nil) throws(CurlTransportError) {
    try self.init(options: Options(userAgent: userAgent))
  }

  package init(
    _ options: Options = Options(), driver: Driver, proxies: ProxySettings = ProxySettings()
  ) throws(CurlTransportError) {
    let settings = try TransportSettings(options, environment: proxies)
    loop = try CurlLoop(driver: driver, settings: settings)
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

  /// How many names have been looked up so far, or begun to be.
  package var lookupCount: Int { loop.lookupCount.load(ordering: .relaxed) }
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
      case .poll: try PollDriver(multi: multi)
      }
    }
  }
}
