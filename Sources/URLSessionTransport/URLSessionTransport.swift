// SPDX-License-Identifier: Apache-2.0

public import BatchwiseDownload
internal import Foundation

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// Carries transfers with `URLSession`, for Apple platforms; it works on Linux too.
///
/// It keeps the contract of `Transport` as far as `URLSession` lets it: one GET for each transfer, no
/// redirect followed, and nothing kept between two transfers but connections, be it a cookie, an answer
/// or a password.
///
/// Handlers are called one after the other on one queue, so they must not wait in it.
///
/// **What it cannot do**, for `URLSession` cannot:
///
/// - There is no bandwidth, no netrc file (`Transfer.usesNetrc` is not looked at), no choice of a version
///   of HTTP, and names are looked up as the system pleases.
/// - When a connection is made cannot be seen, so `TransferTimeouts.connect` is not looked at: a server
///   that cannot be reached counts as silent (`TransferTimeouts.idle`). A head shows when it is
///   complete, so one that comes byte by byte counts as silent too.
/// - A body that its server encoded (`Content-Encoding`) would be decoded before anybody sees it. It fails,
///   for it is not what was sent; all requests ask that no body be encoded.
/// - Bytes that no `URL` may hold, such as `|`, and percent signs that begin no escape are
///   percent-encoded. Dots in a path (`/a/../b`) may be resolved before the request is sent.
/// - Header fields of one name are joined by commas into one. `Accept-Language` is what the system says,
///   unless a transfer has its own.
/// - On Apple platforms a body in chunks may be told as one that ends with its connection, where the
///   system hides how it came; and one that ends with its connection looks whole when it is cut off.
///
/// **On Linux** take `CurlTransport`. As of Swift 6.3.1, Foundation ends the whole process there when a server
/// closes its connection within a head that has told no length yet, or sends fields behind the last
/// chunk. What has arrived waits in memory, without a bound, for a handler that is slow. Heads are
/// understood only as most servers write them, addresses in brackets (`[::1]`) not at all. The body of a
/// redirect is waited for and not told. Each request takes five times as long.
///
/// It was made and tested on Linux, and has not been compiled or run on an Apple platform.
///
/// Releasing the transport cancels what is in flight, tells the handlers so, and returns when they have
/// been told; do not release it while holding a lock that a handler takes. A handler may itself hold the
/// last reference, and the others are then told right after.
public final class URLSessionTransport: Transport {
  private let session: URLSession
  private let carrier: SessionCarrier
  private let userAgent: String?

  /// Makes a transport.
  ///
  /// - Parameter options: How requests are sent.
  /// - Throws: `URLSessionTransportError` for an option whose value cannot work, which it names.
  public convenience init(options: Options) throws(URLSessionTransportError) {
    if let agent = options.userAgent, !agent.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) {
      throw URLSessionTransportError("The user agent holds a control character")
    }
    self.init(checked: options)
  }

  /// Makes a transport that does what is usual.
  public convenience init() { self.init(checked: Options()) }

  private init(checked options: Options) {
    userAgent = options.userAgent
    carrier = SessionCarrier()
    session = URLSession(
      configuration: .carrying(options), delegate: carrier, delegateQueue: carrier.calls)
  }

  deinit {
    session.invalidateAndCancel()
    carrier.close()
  }

  /// Begins every transfer and returns at once.
  ///
  /// - Complexity: O(1) a transfer, and two changes of queue for each on Linux.
  public func start(_ transfers: [Transfer]) {
    for transfer in transfers {
      do throws(DownloadFailure) {
        let request = try URLRequest(transfer, userAgent: userAgent)
        carrier.begin(transfer, session.dataTask(with: request))
      } catch {
        carrier.refuse(transfer, error)
      }
    }
  }

  /// Ends the handler's transfer as soon as possible, with `finish(.cancelled)` as its last call.
  ///
  /// - Complexity: O(1).
  public func cancel(_ handler: any TransferHandler) { carrier.cancel(handler) }
}

extension URLSessionConfiguration {
  /// A configuration that keeps and knows nothing, and leaves limits and patience to others.
  fileprivate static func carrying(
    _ options: URLSessionTransport.Options
  ) -> URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.httpCookieStorage = nil
    configuration.httpCookieAcceptPolicy = .never
    configuration.httpShouldSetCookies = false
    configuration.urlCredentialStorage = nil
    configuration.allowsCellularAccess = options.allowsCellularAccess
    // How many are in flight is the caller's to say. With the usual six, others would wait in here,
    // while their time runs.
    configuration.httpMaximumConnectionsPerHost = 10_000
    // Whoever is in flight is watched by timers of our own.
    configuration.timeoutIntervalForRequest = URLRequest.patience
    configuration.timeoutIntervalForResource = URLRequest.patience
    return configuration
  }
}
