// SPDX-License-Identifier: Apache-2.0

internal import CCurl

/// libcurl itself, set up once in the life of the process.
enum CurlLibrary {
  /// Reading this sets libcurl up, the first time; later it costs nothing.
  static let isReady: Bool = ccurl_global_init() == CURLE_OK
}

/// Why a transport could not be set up: the process ran out of something.
public struct CurlTransportError: Error, Sendable, CustomStringConvertible {
  /// What could not be done, as a sentence.
  public let description: String

  init(_ description: String) {
    self.description = description
  }
}
