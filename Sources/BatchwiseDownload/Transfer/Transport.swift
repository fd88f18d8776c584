// SPDX-License-Identifier: Apache-2.0

/// Carries bytes for requests: the seam between the downloader and libcurl, `URLSession`, or a
/// test's fake.
///
/// A transport knows nothing of limits, names, files or lists. It begins what it is given, hands the
/// bytes to the transfer's handler, and says how the transfer ended. How many transfers are in
/// flight is decided by its caller alone.
public protocol Transport: Sendable {
  /// Begins every transfer and returns at once, without blocking.
  ///
  /// A handler's calls come one after the other on a thread of the transport's choosing:
  /// first `receive(head:)`, then `receive(body:)` as bytes arrive, at last `finish(_:)`, exactly
  /// once whatever happens. None of them comes from inside this call. A handler may call this
  /// method from inside its `finish(_:)`; a transport that keeps a thread of its own then begins
  /// the new transfer there, without waking anybody.
  ///
  /// - Complexity: O(1) a transfer.
  func start(_ transfers: [Transfer])

  /// Ends the handler's transfer as soon as possible, with `finish(.cancelled)` as its last call.
  ///
  /// A transfer that has already ended, or was never begun here, is left alone.
  func cancel(_ handler: any TransferHandler)
}

/// One GET request, and who receives its answer.
public struct Transfer: Sendable {
  /// An absolute `http` or `https` address, already percent-encoded.
  ///
  /// Its host may be written in Unicode; user name and password, if any, are sent as Basic
  /// authentication.
  public var url: String

  /// What to send besides what the transport sends by itself.
  ///
  /// A field with the name of one that the transport sends takes its place. Fields that describe a
  /// body (`Content-Length`, `Transfer-Encoding`) are left out, since a GET has none.
  public var headers: [HeaderField]

  /// Whether the user's `.netrc` file may be asked for a name and password, if the address has none.
  public var usesNetrc: Bool

  /// How long to wait for what.
  public var timeouts: TransferTimeouts

  /// Who receives the answer; kept until `finish(_:)` has returned.
  public var handler: any TransferHandler

  /// Describes one request.
  public init(
    url: String, headers: [HeaderField] = [], usesNetrc: Bool = false,
    timeouts: TransferTimeouts = TransferTimeouts(), handler: any TransferHandler
  ) {
    self.url = url
    self.headers = headers
    self.usesNetrc = usesNetrc
    self.timeouts = timeouts
    self.handler = handler
  }
}

/// How long a transfer waits before it gives up.
public struct TransferTimeouts: Sendable, Equatable {
  /// To look up the name, connect and agree on encryption.
  public var connect: Duration

  /// Without one byte of the answer, counted in whole seconds, rounded up.
  public var idle: Duration

  /// From the beginning of the request to the end of its answer; nil for as long as it takes.
  ///
  /// Waiting for another transfer's lookup of the same host counts in no timeout.
  public var total: Duration?

  /// Sets the timeouts.
  public init(
    connect: Duration = .seconds(10), idle: Duration = .seconds(30), total: Duration? = nil
  ) {
    self.connect = connect
    self.idle = idle
    self.total = total
  }
}

/// Receives the answer to one request.
///
/// All calls for one transfer are made one after the other, so an implementation needs no lock for
/// what only these methods touch. A handler serves one transfer at a time; after `finish(_:)` was
/// called, and inside it, it may be used for another.
public protocol TransferHandler: AnyObject, Sendable {
  /// Receives the final answer's head, and says whether its body is wanted.
  ///
  /// Interim answers (1xx) are not reported. An answer with an empty body has its head reported all
  /// the same.
  func receive(head: ResponseHead) -> BodyDecision

  /// Receives the next bytes of an accepted body, in order; they are valid during the call only.
  ///
  /// - Returns: Whether the transfer shall go on. After `false` the transport ends it with
  ///   `finish(.cancelled)`.
  func receive(body: UnsafeRawBufferPointer) -> Bool

  /// Learns how the transfer ended. The last call.
  func finish(_ end: TransferEnd)
}

/// What to do with the body of an answer.
public enum BodyDecision: Sendable {
  /// Hand it over as it arrives.
  case accept
  /// Read past it and hand over nothing, so that the connection can serve the next request. A
  /// transport may close the connection instead when the body is long.
  case discard
}

/// What the head of an answer says.
public struct ResponseHead: Sendable, Equatable {
  /// The status code, such as 200.
  public var status: Int

  /// How the end of the body is told, which is what can prove that all of it came.
  public var framing: BodyFraming

  /// The media type, as `Content-Type` gives it, without parameters and in lower case.
  public var mediaType: String?

  /// The entity tag, as `ETag` gives it, quotes and `W/` included.
  public var entityTag: String?

  /// When the file was changed last, as `Last-Modified` gives it.
  public var lastModified: String?

  /// How many seconds before the answer's own `Date` the file was changed last, if both are known.
  public var age: Int?

  /// Which part of the file the body is, as `Content-Range` tells (RFC 9110, section 14.4).
  public var contentRange: ContentRange?

  /// How long the server asks to be left alone, counted from its own `Date`; never negative.
  public var retryAfter: Duration?

  /// Describes an answer's head.
  public init(status: Int, framing: BodyFraming) {
    self.status = status
    self.framing = framing
  }
}

/// Which part of a file an answer brings.
public struct ContentRange: Sendable, Equatable {
  /// The first byte and the one after the last; nil in an answer that has none of them (416).
  public var bytes: Range<Int64>?

  /// The length of the whole file, if the server tells.
  public var total: Int64?

  /// Describes a part.
  public init(bytes: Range<Int64>?, total: Int64?) {
    self.bytes = bytes
    self.total = total
  }
}

/// How the end of a body is told (RFC 9112, section 6.3).
public enum BodyFraming: Sendable, Equatable {
  /// By its length in bytes, announced in the head.
  case length(Int64)
  /// By a last chunk.
  case chunked
  /// By closing the connection, so that a cut-off body looks like a whole one; or by the end of a
  /// stream (HTTP/2) that may have been cut off as well.
  case untilClose
}

/// How a transfer ended.
public enum TransferEnd: Sendable, Equatable {
  /// The answer arrived whole, as far as its framing can tell.
  case complete
  /// The answer arrived whole, and names another address (status 3xx with a `Location`), given here
  /// as an absolute address. The transport does not follow it.
  case redirect(to: String)
  /// The request could not be made, or its answer not be read to the end.
  case failed(DownloadFailure)
  /// The transfer was cancelled, or its handler refused the body.
  case cancelled
}
