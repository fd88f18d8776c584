// SPDX-License-Identifier: Apache-2.0

/// Why one item of a list could not be downloaded.
public struct DownloadFailure: Error, Sendable, Equatable {
  /// The kind of failure, from a closed set of short words.
  public var reason: Reason

  /// The status code of the answer, if there was one.
  public var status: Int?

  /// What happened, as a sentence without secrets.
  public var message: String

  /// What may help against it.
  public var remedy: Remedy

  /// The address that could not be downloaded, without user name and password, where the failure is
  /// thrown or is an outcome; an event and a record name it themselves.
  public var url: String?

  /// Describes a failure.
  public init(
    _ reason: Reason, status: Int? = nil, _ message: String, remedy: Remedy = .none
  ) {
    self.reason = reason
    self.status = status
    self.message = message
    self.remedy = remedy
  }

  /// What may help against a failure.
  public enum Remedy: Sendable, Hashable {
    /// Nothing that this side could do.
    case none
    /// Another attempt, after a pause.
    case anotherAttempt
    /// One more attempt; if that fails in the same way, none.
    case oneMoreAttempt
    /// To leave the whole host alone for a while, for as long as it asks if it does.
    case leavingHostAlone(Duration?)
    /// Fewer at once, for no more files or sockets may be open.
    case fewerAtOnce
    /// Room on the disk; no other file could be written either.
    case moreRoom
  }

  /// The kinds of failure; their raw values are the words of the command's events.
  public enum Reason: String, Sendable, CaseIterable {
    /// The line is no address of the `http` or `https` scheme.
    case badURL = "bad-url"
    /// The host's name has no address.
    case dns
    /// No connection could be made.
    case connect
    /// No encrypted connection could be agreed on, or the certificate is not to be trusted.
    case tls
    /// Nothing happened for too long.
    case timeout
    /// The connection ended before the answer did.
    case truncated
    /// The answer breaks the rules of HTTP.
    case `protocol`
    /// The answer's status is not a success.
    case status
    /// Too many redirects, a loop of them, or one that leads where it must not.
    case redirect
    /// The file's bytes do not come to the checksum of the list.
    case checksum
    /// The file has another length than the list says.
    case size
    /// The file is longer than is wanted.
    case tooLarge = "too-large"
    /// The file is shorter than is wanted.
    case tooSmall = "too-small"
    /// The file is of another kind than is wanted, by what its server says or by its first bytes.
    case wrongType = "wrong-type"
    /// No file name could be found that is free and safe.
    case name
    /// The file could not be written.
    case disk
    /// The run was cancelled first.
    case cancelled
  }
}

extension DownloadFailure {
  /// The same with the address that it is about.
  func with(url: String) -> DownloadFailure {
    var failure = self
    failure.url = url
    return failure
  }

  /// The same with the status of the answer that it is about.
  func with(status: Int?) -> DownloadFailure {
    var failure = self
    failure.status = status
    return failure
  }
}

extension DownloadFailure: CustomStringConvertible {
  /// The address if it is known, the reason and the sentence.
  public var description: String {
    "\(url.map { "\($0): " } ?? "")\(reason.rawValue): \(message)"
  }
}
