// SPDX-License-Identifier: Apache-2.0

internal import CCurl

/// libcurl itself, set up once in the life of the process.
enum CurlLibrary {
  /// Reading this sets libcurl up, the first time; later it costs nothing.
  static let isReady: Bool = ccurl_global_init() == CURLE_OK
}

/// Why a transport could not be set up.
public struct CurlTransportError: Error, Sendable, CustomStringConvertible {
  /// What is wrong, as a sentence without a full stop and without secrets.
  public let description: String

  /// Whether an option's value is at fault; otherwise the process has run out of something.
  public let isBadOption: Bool

  init(_ description: String, isBadOption: Bool = false) {
    self.description = description
    self.isBadOption = isBadOption
  }
}
