// SPDX-License-Identifier: Apache-2.0

internal import CCurl

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A transport's options, looked through once: what every slot is set up by.
struct TransportSettings: Sendable {
  let userAgent: String?
  let proxies: ProxySettings
  let caCertificates: String?
  let isInsecure: Bool
  let usesHTTP2: Bool
  let bandwidth: Int?
  let netrcFile: String?

  /// Takes options that can work.
  ///
  /// - Throws: `CurlTransportError` that names the first value that cannot.
  init(
    _ options: CurlTransport.Options, environment proxies: ProxySettings
  ) throws(CurlTransportError) {
    if let agent = options.userAgent, !agent.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) {
      throw CurlTransportError("The user agent holds a control character", isBadOption: true)
    }
    if let bandwidth = options.bandwidth, bandwidth < 1 {
      throw CurlTransportError(
        "The bandwidth is \(bandwidth), and must be at least 1 byte a second", isBadOption: true)
    }
    if let path = options.caCertificates { try Self.checkCertificates(at: path) }
    if let proxy = options.proxy, !proxy.isEmpty { try Self.checkProxy(proxy) }
    userAgent = options.userAgent
    caCertificates = options.caCertificates
    isInsecure = options.isInsecure
    usesHTTP2 = options.httpVersion == .http2
    bandwidth = options.bandwidth
    netrcFile = options.netrcPath ?? Self.variable("NETRC")
    self.proxies =
      switch options.proxy {
      case nil: proxies
      case ""?: ProxySettings()
      case let proxy?: ProxySettings(http: proxy, https: proxy)
      }
  }

  /// Sets what is the same for every transfer of a handle.
  func apply(to easy: UnsafeMutableRawPointer) {
    ccurl_set_long(easy, CURLOPT_NOSIGNAL, 1)
    ccurl_set_string(easy, CURLOPT_PROTOCOLS_STR, "http,https")
    // The address in the list is the one that is asked for, dots and all: it is what the journal
    // and the server's log know, and an address that was signed is no longer valid once changed.
    ccurl_set_long(easy, CURLOPT_PATH_AS_IS, 1)
    // The answer of a proxy to CONNECT is no answer to the request.
    ccurl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    // Pooled connections that have been silent for long may be dead without knowing it.
    ccurl_set_long(easy, CURLOPT_MAXAGE_CONN, 30)
    ccurl_set_long(easy, CURLOPT_DNS_CACHE_TIMEOUT, Lookups.cacheSeconds)
    // Without this, ending a transfer whose name is being looked up would block the loop until
    // the lookup is over. The thread that does it frees what it holds when it is done.
    ccurl_set_long(easy, CURLOPT_QUICK_EXIT, 1)
    if let userAgent { ccurl_set_string(easy, CURLOPT_USERAGENT, userAgent) }
    if let netrcFile { ccurl_set_string(easy, CURLOPT_NETRC_FILE, netrcFile) }
    if let caCertificates {
      for (file, folder) in [
        (CURLOPT_CAINFO, CURLOPT_CAPATH), (CURLOPT_PROXY_CAINFO, CURLOPT_PROXY_CAPATH),
      ] {
        ccurl_set_string(easy, file, caCertificates)
        // Otherwise the system's folder of certificates would vouch as well.
        ccurl_set_string(easy, folder, nil)
      }
    }
    if isInsecure {
      ccurl_set_long(easy, CURLOPT_SSL_VERIFYPEER, 0)
      ccurl_set_long(easy, CURLOPT_SSL_VERIFYHOST, 0)
    }
  }

  private static func variable(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }

  /// libcurl would find out for every transfer anew, and not say what is wrong.
  private static func checkCertificates(at path: String) throws(CurlTransportError) {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else {
      let cause = String(cString: strerror(errno))
      throw CurlTransportError(
        "The certificates in \(path) cannot be read: \(cause)", isBadOption: true)
    }
    defer { _ = close(file) }
    let marker = Array("-----BEGIN ".utf8)
    var window: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
      let count = read(file, &chunk, chunk.count)
      guard count >= 0 else {
        let cause = String(cString: strerror(errno))
        throw CurlTransportError(
          "The certificates in \(path) cannot be read: \(cause)", isBadOption: true)
      }
      window += chunk[..<count]
      if window.firstRange(of: marker) != nil { return }
      window = window.suffix(marker.count)
      if count == 0 {
        throw CurlTransportError("There are no certificates in \(path)", isBadOption: true)
      }
    }
  }

  /// Reads a proxy's address as libcurl will.
  private static func checkProxy(_ proxy: String) throws(CurlTransportError) {
    let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME)
    let schemes = ["http", "https", "socks", "socks4", "socks4a", "socks5", "socks5h"]
    guard let parts = curl_url() else { throw CurlTransportError("Memory has run out") }
    defer { curl_url_cleanup(parts) }
    guard !proxy.utf8.contains(0), curl_url_set(parts, CURLUPART_URL, proxy, flags) == CURLUE_OK,
      let host = part(CURLUPART_HOST, of: parts), !host.isEmpty
    else {
      throw CurlTransportError(
        "The proxy \(withoutSecrets(proxy)) has no address that can be read", isBadOption: true)
    }
    guard let scheme = part(CURLUPART_SCHEME, of: parts), schemes.contains(scheme) else {
      throw CurlTransportError(
        "The proxy \(withoutSecrets(proxy)) is of none of the kinds \(schemes.joined(separator: ", "))",
        isBadOption: true)
    }
  }

  private static func part(_ part: CURLUPart, of parts: OpaquePointer) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(parts, part, &text, 0) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }

  /// Whatever stands before an `@` may be a name and a password.
  private static func withoutSecrets(_ proxy: String) -> String {
    guard let at = proxy.lastIndex(of: "@") else { return proxy }
    let scheme = proxy.firstRange(of: "://").map { String(proxy[..<$0.upperBound]) } ?? ""
    return scheme + proxy[proxy.index(after: at)...]
  }
}
