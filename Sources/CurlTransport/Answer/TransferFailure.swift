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

extension DownloadFailure {
  /// Says what one of libcurl's codes means for a transfer from a host.
  ///
  /// libcurl's own words are not used: they may hold the address, and with it a password.
  static func transfer(
    _ code: CURLcode, host: String, systemError: CInt, hasSentRequest: Bool
  ) -> DownloadFailure {
    func cause(_ otherwise: String) -> String {
      systemError == 0 ? otherwise : String(cString: strerror(systemError))
    }
    switch code {
    case CURLE_URL_MALFORMAT:
      return DownloadFailure(.badURL, "The address of \(host) cannot be read.")
    case CURLE_UNSUPPORTED_PROTOCOL where !hasSentRequest:
      return DownloadFailure(.badURL, "The address of \(host) is neither http nor https.")
    case CURLE_COULDNT_RESOLVE_HOST:
      return DownloadFailure(.dns, "No address is known for \(host).")
    case CURLE_COULDNT_RESOLVE_PROXY:
      return DownloadFailure(.dns, "No address is known for the proxy on the way to \(host).")
    case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED, CURLE_PROXY:
      return DownloadFailure(.connect, "No connection to \(host): \(cause("it was refused")).")
    case CURLE_OPERATION_TIMEDOUT:
      return DownloadFailure(.timeout, "Connecting to \(host) took too long.")
    case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR:
      let cause = cause("the connection was closed")
      return DownloadFailure(.truncated, "The answer of \(host) ended too early: \(cause).")
    case CURLE_PEER_FAILED_VERIFICATION:
      return DownloadFailure(.tls, "The certificate of \(host) is not to be trusted.")
    case _ where code.isAboutEncryption:
      return DownloadFailure(.tls, "No encrypted connection to \(host) could be agreed on.")
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY:
      return DownloadFailure(.protocol, "The answer of \(host) is not HTTP.")
    case _ where hasSentRequest:
      return DownloadFailure(
        .protocol, "The answer of \(host) cannot be read (libcurl's code \(code.rawValue)).")
    default:
      return DownloadFailure(
        .connect, "The transfer from \(host) failed (libcurl's code \(code.rawValue)).")
    }
  }

  /// Says that libcurl could not take a transfer, which happens only when memory is short.
  static func outOfHandles(for url: String) -> DownloadFailure {
    DownloadFailure(.connect, "The transfer from \(Address.host(of: url)) could not be begun.")
  }

  /// Says which rule of HTTP a host's answer breaks.
  static func brokenAnswer(of host: String, _ what: String) -> DownloadFailure {
    DownloadFailure(.protocol, "The answer of \(host) breaks the rules of HTTP: \(what).")
  }
}

extension CURLcode {
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
