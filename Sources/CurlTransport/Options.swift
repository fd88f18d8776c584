// SPDX-License-Identifier: Apache-2.0

extension CurlTransport {
  /// How a transport sends its requests, all of them.
  public struct Options: Sendable, Equatable {
    /// What requests say they come from; without it they say nothing.
    public var userAgent: String?

    /// The proxy that everything goes through, such as `http://10.0.0.1:3128` or
    /// `socks5h://localhost:1080`; none at all if it is empty.
    ///
    /// Without it, proxies are found in the environment (`http_proxy`, `https_proxy`, `all_proxy`,
    /// `no_proxy`).
    public var proxy: String?

    /// A file of certificates in PEM that may vouch for servers, in place of the system's.
    public var caCertificates: String?

    /// Whether servers need no certificate that can be trusted.
    public var isInsecure: Bool

    /// The version of HTTP that servers are asked to speak.
    public var httpVersion: HTTPVersion

    /// How many bytes a second all answers together may bring, heads included; nil for no limit.
    public var bandwidth: Int?

    /// The file of names and passwords for transfers that use one; without it the one that `NETRC`
    /// names in the environment, or `.netrc` in the user's home.
    public var netrcPath: String?

    /// Sets the options.
    public init(
      userAgent: String? = nil, proxy: String? = nil, caCertificates: String? = nil,
      isInsecure: Bool = false, httpVersion: HTTPVersion = .http1_1, bandwidth: Int? = nil,
      netrcPath: String? = nil
    ) {
      self.userAgent = userAgent
      self.proxy = proxy
      self.caCertificates = caCertificates
      self.isInsecure = isInsecure
      self.httpVersion = httpVersion
      self.bandwidth = bandwidth
      self.netrcPath = netrcPath
    }
  }

  /// A version of HTTP.
  public enum HTTPVersion: Sendable {
    /// HTTP/1.1, one answer at a time on each connection.
    case http1_1
    /// HTTP/2 over TLS where the server agrees, and HTTP/1.1 everywhere else; one answer at a time on
    /// each connection here too.
    ///
    /// A success whose head announces no length is asked for once more by HTTP/1.1, which can tell
    /// a whole body from one that was cut off.
    case http2
  }
}
