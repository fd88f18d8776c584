// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import CurlTransport
import Testing
import URLSessionTransport

/// A transport that has to keep the contract of the seam.
enum Carrier: CaseIterable, Sendable, CustomTestStringConvertible {
  case curl
  case urlSession

  func make(userAgent: String? = nil) throws -> any Transport {
    switch self {
    case .curl: try CurlTransport(userAgent: userAgent)
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
