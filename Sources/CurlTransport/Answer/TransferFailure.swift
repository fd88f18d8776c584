// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import CCurl

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// What is known of a transfer that libcurl could not carry out.
struct TransferTrouble {
  let code: CURLcode
  let host: String
  /// The proxy's host and port, if all transfers of the address's scheme go through one.
  let proxy: String?
  let systemError: CInt
  let hasSentRequest: Bool
  let proxyStatus: Int
  let isOutOfDescriptors: Bool
  let wasCutOff: Bool

  fileprivate func cause(_ otherwise: String) -> String {
    systemError == 0 ? otherwise : String(cString: strerror(systemError))
  }
}

extension DownloadFailure {
  /// Says what one of libcurl's codes means for a transfer from a host.
  ///
  /// libcurl's own words are not used: they may hold the address, and with it a password.
  static func transfer(_ trouble: TransferTrouble) -> DownloadFailure {
    let host = trouble.host
    if trouble.isOutOfDescriptors {
      return DownloadFailure(
        .connect, "No connection to \(host): too many files are open", remedy: .fewerAtOnce)
    }
    if trouble.proxyStatus >= 300 { return refusedByProxy(trouble) }
    switch trouble.code {
    case CURLE_URL_MALFORMAT:
      return DownloadFailure(.badURL, "The address of \(host) cannot be read")
    case CURLE_UNSUPPORTED_PROTOCOL where !trouble.hasSentRequest:
      return DownloadFailure(.badURL, "The address of \(host) is neither http nor https")
    case CURLE_COULDNT_RESOLVE_HOST:
      return DownloadFailure(.dns, "No address is known for \(host)", remedy: .anotherAttempt)
    case CURLE_COULDNT_RESOLVE_PROXY:
      let proxy = trouble.proxy.map { "the proxy \($0)" } ?? "the proxy"
      return DownloadFailure(.dns, "No address is known for \(proxy)", remedy: .anotherAttempt)
    case CURLE_PROXY:
      let proxy = trouble.proxy.map { "The proxy \($0)" } ?? "The proxy"
      return DownloadFailure(
        .connect, "\(proxy) does not connect to \(host)", remedy: .anotherAttempt)
    case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED:
      let peer = trouble.proxy.map { "the proxy \($0)" } ?? host
      return DownloadFailure(
        .connect, "No connection to \(peer): \(trouble.cause("it was refused"))",
        remedy: .anotherAttempt)
    case CURLE_OPERATION_TIMEDOUT:
      let what = trouble.hasSentRequest ? "The transfer from" : "Connecting to"
      return DownloadFailure(.timeout, "\(what) \(host) took too long", remedy: .anotherAttempt)
    case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2,
      CURLE_HTTP2_STREAM:
      let cause = trouble.cause("the connection was closed")
      return DownloadFailure(
        .truncated, "The answer of \(host) ended too early: \(cause)", remedy: .anotherAttempt)
    case CURLE_PEER_FAILED_VERIFICATION:
      return DownloadFailure(.tls, "The certificate of \(host) is not to be trusted")
    case CURLE_SSL_CONNECT_ERROR where trouble.wasCutOff:
      return DownloadFailure(
        .tls, "The connection to \(host) was closed before it was encrypted",
        remedy: .anotherAttempt)
    case _ where trouble.code.isAboutEncryption:
      return DownloadFailure(.tls, "No encrypted connection to \(host) could be agreed on")
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY:
      return DownloadFailure(.protocol, "The answer of \(host) is not HTTP")
    case CURLE_READ_ERROR where !trouble.hasSentRequest:
      return DownloadFailure(.connect, "The netrc file cannot be read")
    case _ where trouble.hasSentRequest:
      return DownloadFailure(
        .protocol, "The answer of \(host) cannot be read (libcurl's code \(trouble.code.rawValue))")
    case CURLE_OUT_OF_MEMORY:
      return DownloadFailure(
        .connect, "No connection to \(host): memory has run out", remedy: .fewerAtOnce)
    default:
      return DownloadFailure(
        .connect, "The transfer from \(host) failed (libcurl's code \(trouble.code.rawValue))",
        remedy: .anotherAttempt)
    }
  }

  /// A proxy that answers with a failure of its own may do better later, and one that refuses not.
  private static func refusedByProxy(_ trouble: TransferTrouble) -> DownloadFailure {
    DownloadFailure(
      .connect,
      "The proxy does not connect to \(trouble.host) (its answer has status \(trouble.proxyStatus))",
      remedy: trouble.proxyStatus >= 500 ? .anotherAttempt : .none)
  }

  /// Says that libcurl could not take a transfer, which happens only when memory is short.
  static func outOfMemory(for url: String) -> DownloadFailure {
    DownloadFailure(
      .connect, "The transfer from \(Address.host(of: url)) could not be begun: memory has run out",
      remedy: .fewerAtOnce)
  }

  /// Says which rule of HTTP a host's answer breaks.
  static func brokenAnswer(of host: String, _ what: String) -> DownloadFailure {
    DownloadFailure(.protocol, "The answer of \(host) breaks the rules of HTTP: \(what)")
  }
}

extension CURLcode {
  /// Whether a connection that was used before may be at fault, and a new one may do better.
  var mayBeTheConnectionsFault: Bool {
    switch self {
    case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2: true
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY: true
    // A line too long for a head; newer versions have a code of its own for it.
    case CURLE_OUT_OF_MEMORY, CURLcode(rawValue: 100): true
    default: false
    }
  }

  fileprivate var isAboutEncryption: Bool {
    switch self {
    case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED,
      CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT,
      CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CRL_BADFILE, CURLE_USE_SSL_FAILED:
      true
    default: false
    }
  }
}
