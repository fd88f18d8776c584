// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Which proxy serves which scheme, as the environment tells.
///
/// libcurl would read the environment again for every transfer. It is read once here, by the same
/// rules: the lower-case name before the upper-case one, `HTTP_PROXY` not at all (a web server's
/// programs find a request's `Proxy` field there), and `all_proxy` for what no other names.
package struct ProxySettings: Sendable, Equatable {
  /// The proxy for `http` addresses.
  package var http: String?

  /// The proxy for `https` addresses.
  package var https: String?

  /// The hosts that are reached without a proxy, in libcurl's notation.
  package var exceptions: String

  /// Names the proxies; by default there are none.
  package init(http: String? = nil, https: String? = nil, exceptions: String = "") {
    self.http = http
    self.https = https
    self.exceptions = exceptions
  }

  /// Reads the settings with a function that looks up an environment variable.
  package init(variable: (String) -> String?) {
    func first(of names: [String]) -> String? {
      names.lazy.compactMap(variable).first { !$0.isEmpty }
    }
    self.init(
      http: first(of: ["http_proxy", "all_proxy", "ALL_PROXY"]),
      https: first(of: ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
      exceptions: first(of: ["no_proxy", "NO_PROXY"]) ?? "")
  }

  /// The proxy that all transfers of a scheme go through, if there is one.
  func only(for scheme: Address.Scheme) -> String? {
    guard exceptions.isEmpty else { return nil }
    return scheme == .https ? https : http
  }

  /// The settings of this process's environment.
  package static func ofEnvironment() -> ProxySettings {
    ProxySettings { name in getenv(name).map { String(cString: $0) } }
  }
}
