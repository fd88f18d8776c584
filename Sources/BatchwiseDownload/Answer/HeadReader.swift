// SPDX-License-Identifier: Apache-2.0

/// Reads the head of an answer line by line, so that every transport tells the same of it.
///
/// A transport's library has its own view of the head and acts on it, so this reads only what a
/// handler is told. It is stricter in one place. Of two lengths that differ, libcurl believes the
/// last, and a length with letters after it passes; here such an answer is broken, because a body of
/// a doubtful length proves nothing.
///
/// Of a field that comes twice the first counts. Two values of `Content-Range` are none.
package struct HeadReader: Sendable {
  /// What a line has led to.
  package enum Step: Equatable, Sendable {
    /// The head goes on.
    case more
    /// The head is complete.
    case head(ResponseHead)
    /// The head breaks the rules of HTTP, for the reason given.
    case broken(String)
  }

  /// Whether the final answer's head has been read to its end.
  package private(set) var isComplete = false

  /// Whether anything of an answer has been read, be it an interim one.
  package var isUntouched: Bool { bytes == 0 }

  /// The address a redirect names, as it stands in the head.
  package private(set) var location: String?

  /// Whether the answer came in frames (HTTP/2), which have an end of their own.
  package private(set) var isFramed = false

  private var bytes = 0
  private var head = ResponseHead(status: 0, framing: .untilClose)
  private var length: Length = .none
  private var isChunked = false
  private var date: Int64?
  private var lastModified: Int64?
  private var retryAfter: FieldValue.RetryAfter?
  private var hasContentRange = false

  private enum Length {
    case none
    case of(Int64)
    case broken

    /// Takes one more field's value in: a number, or a list of equal numbers.
    mutating func take(_ value: Ascii.Bytes) {
      for member in value.split(separator: Ascii.comma, omittingEmptySubsequences: false) {
        switch (self, Ascii.number(Ascii.trimmed(member))) {
        case (.none, let number?): self = .of(number)
        case (.of(let known), let number?) where known == number: break
        default: self = .broken
        }
      }
    }
  }

  /// The most bytes a head may have, interim answers included.
  ///
  /// libcurl bounds each line alone.
  package static let maximumBytes = 256 * 1024

  /// Starts before the first line.
  package init() {}

  /// Reads one line, its end included.
  ///
  /// An empty line ends a head; trailers after it are ignored.
  package mutating func read(line: UnsafeRawBufferPointer) -> Step {
    bytes += line.count
    if bytes > Self.maximumBytes { return .broken("its head is too long") }
    if isComplete { return .more }
    if line.starts(with: "HTTP/".utf8) {
      beginAnswer(line)
    } else if let first = line.first, first == Ascii.carriageReturn || first == Ascii.newline {
      return endOfHead()
    } else if let colon = line.firstIndex(of: Ascii.colon) {
      take(line[..<colon], in: line)
    }
    return .more
  }

  private mutating func beginAnswer(_ line: UnsafeRawBufferPointer) {
    head = ResponseHead(status: Self.status(of: line), framing: .untilClose)
    isFramed = line.count > 5 && line[5] >= UInt8(ascii: "2")
    location = nil
    length = .none
    isChunked = false
    date = nil
    lastModified = nil
    retryAfter = nil
    hasContentRange = false
  }

  /// Takes a field in, if it is one of those that count.
  ///
  /// Most are not, and by their length alone that is known.
  private mutating func take(_ name: Ascii.Bytes, in line: UnsafeRawBufferPointer) {
    var value: Ascii.Bytes { Ascii.trimmed(line[(name.count + 1)...]) }
    switch name.count {
    case 4:
      if Ascii.isEqual(name, "etag") {
        head.entityTag = head.entityTag ?? FieldValue.kept(value, atMost: 1024)
      } else if Ascii.isEqual(name, "date") {
        date = date ?? HTTPDate.seconds(value)
      }
    case 8 where 300..<400 ~= head.status && Ascii.isEqual(name, "location"):
      location = location ?? String(decoding: value, as: UTF8.self)
    case 11 where Ascii.isEqual(name, "retry-after"):
      retryAfter = retryAfter ?? FieldValue.RetryAfter(value)
    case 12 where Ascii.isEqual(name, "content-type"):
      head.mediaType = head.mediaType ?? FieldValue.mediaType(value)
    case 13:
      if Ascii.isEqual(name, "last-modified") {
        if head.lastModified != nil { return }
        head.lastModified = FieldValue.kept(value, atMost: 64)
        lastModified = HTTPDate.seconds(value)
      } else if Ascii.isEqual(name, "content-range") {
        head.contentRange = hasContentRange ? nil : FieldValue.contentRange(value)
        hasContentRange = true
      }
    case 14 where Ascii.isEqual(name, "content-length"): length.take(value)
    case 17 where Ascii.isEqual(name, "transfer-encoding"):
      // Frames have no chunks (RFC 9113, section 8.2.2).
      isChunked = isChunked || !isFramed && Self.namesChunked(value)
    default: break
    }
  }

  private mutating func endOfHead() -> Step {
    if 100..<200 ~= head.status && head.status != 101 { return .more }
    isComplete = true
    if head.status == 101 { return .broken("it switches to a protocol nobody asked for") }
    if head.status == 204 || head.status == 304 {
      head.framing = .length(0)
    } else if isChunked {
      head.framing = .chunked
    } else {
      switch length {
      case .none: break
      case .of(let count): head.framing = .length(count)
      case .broken: return .broken("its length is no number, or two that differ")
      }
    }
    if let date, let lastModified { head.age = Int(date - lastModified) }
    if let retryAfter { head.retryAfter = retryAfter.time(from: date) }
    return .head(head)
  }
}

extension HeadReader {
  /// The three digits after the first space, or 0.
  private static func status(of line: UnsafeRawBufferPointer) -> Int {
    guard let space = line.firstIndex(of: Ascii.space) else { return 0 }
    return Ascii.number(line[(space + 1)...].prefix(3)).map(Int.init) ?? 0
  }

  private static func namesChunked(_ value: Ascii.Bytes) -> Bool {
    value.split(separator: Ascii.comma).contains { Ascii.isEqual(Ascii.trimmed($0), "chunked") }
  }
}
