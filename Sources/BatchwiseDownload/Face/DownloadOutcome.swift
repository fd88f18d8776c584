// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// What became of one request, and where in the list it stood.
public struct DownloadOutcome<Value: Sendable>: Sendable {
  /// The place of the request in the list, counted from zero.
  public let offset: Int

  /// The request.
  public let request: DownloadRequest

  /// What the request brought, or why it failed; a failure names its address.
  public let result: Result<Value, DownloadFailure>

  /// Returns what the request brought, or throws why it failed.
  public func get() throws(DownloadFailure) -> Value { try result.get() }
}

extension DownloadOutcome: Equatable where Value: Equatable {}

/// The order in which outcomes are read.
public enum OutcomeOrder: Sendable, Hashable {
  /// The order of the list: a slow request holds back the outcomes behind it.
  case source
  /// The order of finishing: every outcome can be read as soon as it is there.
  case completion
}

/// What came of a request for a file, if it did not fail.
public enum FileResult: Sendable, Hashable {
  /// The file was downloaded.
  case done(DownloadedFile)
  /// Nothing had to be downloaded, or to be kept. The file is named where it is known.
  case skipped(SkipReason, file: String?)

  /// The file's path, relative to the output folder.
  ///
  /// Nil if the request was skipped for another one of which no more is known.
  public var file: String? {
    switch self {
    case .done(let file): file.name
    case .skipped(_, let file): file
    }
  }
}

/// A body that was downloaded into memory.
public struct DownloadedBody: Sendable, Hashable {
  /// The bytes, as they were sent.
  public var data: Data
  /// The media type that the server gave, without parameters and in lower case.
  public var mediaType: String?
  /// The status code of the answer that brought it.
  public var status: Int
  /// How often it was tried, the last time included.
  public var attempts: Int
  /// From the start of the first try to the end.
  public var duration: Duration
  /// How far its bytes are known to be right.
  public var proof: DownloadedFile.Proof
}

/// What the two kinds of outcomes have in common.
protocol BatchValue: Sendable {
  /// What tells two requests apart.
  static func identity(of item: WorkItem) -> RequestIdentity
  /// Whether a run knows duplicates itself, because items are numbered by their places and recorded.
  static var runKnowsDuplicates: Bool { get }
  /// What came of an item that was done.
  init?(_ file: DownloadedFile, _ body: HeldBody?)
  /// What came of an item that was skipped.
  init?(_ reason: SkipReason, file: String?)
}

extension FileResult: BatchValue {
  static func identity(of item: WorkItem) -> RequestIdentity { RequestIdentity(ofFile: item) }
  static var runKnowsDuplicates: Bool { true }
  init(_ file: DownloadedFile, _ body: HeldBody?) { self = .done(file) }
  init(_ reason: SkipReason, file: String?) { self = .skipped(reason, file: file) }
}

extension DownloadedBody: BatchValue {
  static func identity(of item: WorkItem) -> RequestIdentity { RequestIdentity(ofBody: item) }
  static var runKnowsDuplicates: Bool { false }

  init?(_ file: DownloadedFile, _ body: HeldBody?) {
    guard let body else { return nil }
    data = body.data
    mediaType = body.mediaType
    status = file.status
    attempts = file.attempts
    duration = file.duration
    proof = file.proof
  }

  init?(_ reason: SkipReason, file: String?) { nil }
}
