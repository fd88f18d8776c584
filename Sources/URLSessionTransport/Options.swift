// SPDX-License-Identifier: Apache-2.0

extension URLSessionTransport {
  /// How a transport sends its requests, all of them.
  ///
  /// There is less to choose than with libcurl. `URLSession` has no option for a bandwidth, netrc, a
  /// version of HTTP, or certificates of one's own that works on every platform, and it finds its
  /// proxies by itself: in the system's settings on Apple platforms, in the environment on Linux.
  public struct Options: Sendable, Equatable {
    /// What requests say they come from; without it they say what `URLSession` says by itself.
    public var userAgent: String?

    /// Whether requests may go through the network of a mobile phone.
    ///
    /// It has no meaning on Linux.
    public var allowsCellularAccess: Bool

    /// Sets the options.
    public init(userAgent: String? = nil, allowsCellularAccess: Bool = true) {
      self.userAgent = userAgent
      self.allowsCellularAccess = allowsCellularAccess
    }
  }
}

/// Why a transport could not be set up.
public struct URLSessionTransportError: Error, Sendable, CustomStringConvertible {
  /// What is wrong, as a sentence without a full stop and without secrets.
  public let description: String

  init(_ description: String) { self.description = description }
}
