// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import CurlTransport
import Testing
import URLSessionTransport

/// A transport that has to keep the contract of the seam.
enum Carrier: CaseIterable, Sendable, CustomTestStringConvertible {
  case curl
  case urlSession

  /// Makes a transport, which trusts certificates of a file, if it can be told to.
  func make(
    userAgent: String? = nil, trusting certificates: String? = nil
  ) throws -> any Transport {
    switch self {
    case .curl:
      try CurlTransport(options: .init(userAgent: userAgent, caCertificates: certificates))
    case .urlSession: try URLSessionTransport(options: .init(userAgent: userAgent))
    }
  }

  var testDescription: String {
    switch self {
    case .curl: "curl"
    case .urlSession: "URLSession"
    }
  }
}
