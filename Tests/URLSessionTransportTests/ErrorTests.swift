// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import Foundation
import Testing

@testable import URLSessionTransport

@Suite("An error of URLSession", .timeLimit(.minutes(1)))
struct ErrorTests {
  private func failure(
    _ code: URLError.Code, hasHead: Bool = false, words: String = "secret"
  ) -> DownloadFailure {
    .transfer(
      from: "h",
      NSError(
        domain: NSURLErrorDomain, code: code.rawValue,
        userInfo: [NSLocalizedDescriptionKey: words]), hasHead: hasHead)
  }

  @Test("tells what failed, and what may help, though Linux has few of the codes")
  func codes() {
    let again = DownloadFailure.Remedy.anotherAttempt
    let none = DownloadFailure.Remedy.none
    for (codes, reason, remedy) in [
      ([.badURL], .badURL, none),
      ([.cannotFindHost, .dnsLookupFailed], .dns, again),
      ([.cannotConnectToHost, .notConnectedToInternet, .dataNotAllowed], .connect, again),
      ([.timedOut], .timeout, again),
      ([.networkConnectionLost], .truncated, again),
      (
        [
          .serverCertificateUntrusted, .serverCertificateHasBadDate,
          .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot,
          .secureConnectionFailed, .appTransportSecurityRequiresSecureConnection,
        ], .tls, none
      ),
      ([.badServerResponse, .cannotParseResponse, .cannotDecodeContentData], .protocol, none),
    ] as [([URLError.Code], DownloadFailure.Reason, DownloadFailure.Remedy)] {
      for code in codes {
        let failure = failure(code)
        #expect(failure.reason == reason && failure.remedy == remedy, "\(code)")
        #expect(!failure.message.contains("secret"))
      }
    }
  }

  @Test("without a code is told by libcurl's words, or by when it happened")
  func words() {
    for (words, hasHead, reason) in [
      ("SSL certificate problem: self-signed certificate", false, .tls),
      ("TLS connect error: wrong version number", false, .tls),
      ("transfer closed with 3 bytes remaining to read", true, .truncated),
      ("Recv failure: Connection reset by peer", false, .truncated),
      ("Received HTTP/0.9 when not allowed", false, .protocol),
      ("chunk hex-length char not a hex digit: 0x7a", true, .protocol),
      ("Failed to connect to h port 1", false, .connect), ("?", true, .truncated),
      ("?", false, .protocol),
    ] as [(String, Bool, DownloadFailure.Reason)] {
      #expect(failure(.unknown, hasHead: hasHead, words: words).reason == reason, "\(words)")
    }
  }
}
