// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import Foundation

extension DownloadFailure {
  /// Says what an error of `URLSession` means for a transfer from a host.
  ///
  /// The error's own words are not shown: they may hold the address. On Linux most errors have one code
  /// for all, so there the words are looked at, which are libcurl's.
  static func transfer(from host: String, _ error: any Error, hasHead: Bool) -> DownloadFailure {
    let error = error as NSError
    guard error.domain == NSURLErrorDomain else { return unknown(host, error.code, hasHead) }
    switch URLError.Code(rawValue: error.code) {
    case .badURL:
      return DownloadFailure(.badURL, "The address of \(host) cannot be read")
    case .cannotFindHost, .dnsLookupFailed:
      return DownloadFailure(.dns, "No address is known for \(host)", remedy: .anotherAttempt)
    case .cannotConnectToHost:
      return DownloadFailure(
        .connect, "No connection to \(host): it was refused", remedy: .anotherAttempt)
    case .notConnectedToInternet, .internationalRoamingOff, .dataNotAllowed, .callIsActive:
      return DownloadFailure(
        .connect, "No connection to \(host): there is no network", remedy: .anotherAttempt)
    case .appTransportSecurityRequiresSecureConnection:
      return DownloadFailure(.tls, "This app may connect to \(host) with encryption only")
    case .timedOut: return late(host)
    case .networkConnectionLost: return cutOff(host)
    case .serverCertificateUntrusted, .serverCertificateHasBadDate,
      .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid:
      return untrusted(host)
    case .secureConnectionFailed, .clientCertificateRejected, .clientCertificateRequired:
      return unencrypted(host)
    case .badServerResponse where error.isAboutNothing: return cutOff(host)
    case .badServerResponse, .cannotParseResponse, .cannotDecodeRawData, .cannotDecodeContentData,
      .zeroByteResource, .unsupportedURL, .httpTooManyRedirects, .redirectToNonExistentLocation:
      return noHTTP(host)
    default: return unknown(host, error.code, hasHead, error.localizedDescription)
    }
  }

  private static func unknown(
    _ host: String, _ code: Int, _ hasHead: Bool, _ words: String = ""
  ) -> DownloadFailure {
    func mention(_ signs: String...) -> Bool {
      signs.contains { words.range(of: $0, options: .caseInsensitive) != nil }
    }
    if mention("certificate") { return untrusted(host) }
    if !hasHead && mention("SSL", "TLS") { return unencrypted(host) }
    if mention("chunk hex", "illegal or missing hexadecimal", "malformed encoding found in chunked")
    {
      return brokenAnswer(of: host, "its body is no series of chunks")
    }
    if mention("HTTP/0.9", "weird server reply", "invalid status line", "content-length") {
      return noHTTP(host)
    }
    if mention("failed to connect", "couldn't connect", "could not connect") {
      return DownloadFailure(
        .connect, "No connection to \(host) could be made", remedy: .anotherAttempt)
    }
    if hasHead || mention("recv failure", "send failure", "closed", "remaining to read") {
      return cutOff(host)
    }
    return DownloadFailure(
      .protocol, "The transfer from \(host) failed (URLSession's code \(code))")
  }

  static func late(_ host: String) -> DownloadFailure {
    DownloadFailure(
      .timeout, "The transfer from \(host) took too long", remedy: .anotherAttempt)
  }

  static func silent(_ host: String) -> DownloadFailure {
    DownloadFailure(.timeout, "Nothing came from \(host) for too long", remedy: .anotherAttempt)
  }

  static func cutOff(_ host: String) -> DownloadFailure {
    DownloadFailure(
      .truncated, "The answer of \(host) ended too early: the connection was closed",
      remedy: .anotherAttempt)
  }

  static func brokenAnswer(of host: String, _ what: String) -> DownloadFailure {
    DownloadFailure(.protocol, "The answer of \(host) breaks the rules of HTTP: \(what)")
  }

  static func encodedAnswer(of host: String) -> DownloadFailure {
    DownloadFailure(
      .protocol,
      "\(host) encoded the body though it was asked not to, and URLSession would decode it")
  }

  private static func noHTTP(_ host: String) -> DownloadFailure {
    DownloadFailure(.protocol, "The answer of \(host) is not HTTP")
  }

  private static func untrusted(_ host: String) -> DownloadFailure {
    DownloadFailure(.tls, "The certificate of \(host) is not to be trusted")
  }

  private static func unencrypted(_ host: String) -> DownloadFailure {
    DownloadFailure(.tls, "No encrypted connection to \(host) could be agreed on")
  }
}

extension NSError {
  /// Whether a connection was closed without an answer, for which Linux has this code alone.
  fileprivate var isAboutNothing: Bool {
    localizedDescription.range(of: "empty reply", options: .caseInsensitive) != nil
  }
}
