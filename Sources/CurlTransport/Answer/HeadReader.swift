// SPDX-License-Identifier: Apache-2.0

package import BatchwiseDownload

/// Reads the head of an answer line by line, as libcurl hands it over.
///
/// libcurl has its own view of the head and acts on it, so this reads only what a handler is told:
/// the status, how the body's end is known, and where a redirect leads. It is stricter in one
/// place. Of two lengths that differ, libcurl believes the last, and a length with letters after
/// it passes; here such an answer is broken, because a body of a doubtful length proves nothing.
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

  private var bytes = 0
  private var status = 0
  private var length: Length = .none
  private var isChunked = false

  private enum Length {
    case none
    case of(Int64)
    case broken

    /// Takes one more field's value in: a number, or a list of equal numbers.
    mutating func take(_ value: Slice<UnsafeRawBufferPointer>) {
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
      beginAnswer(status: Self.status(of: line))
    } else if let first = line.first, first == Ascii.carriageReturn || first == Ascii.newline {
      return endOfHead()
    } else if let value = Self.value(of: "content-length", in: line) {
      length.take(value)
    } else if let value = Self.value(of: "transfer-encoding", in: line) {
      isChunked = isChunked || Self.namesChunked(value)
    } else if 300..<400 ~= status, let value = Self.value(of: "location", in: line) {
      location = location ?? String(decoding: value, as: UTF8.self)
    }
    return .more
  }

  private mutating func beginAnswer(status: Int) {
    self.status = status
    length = .none
    isChunked = false
    location = nil
  }

  private mutating func endOfHead() -> Step {
    if 100..<200 ~= status && status != 101 { return .more }
    isComplete = true
    if status == 101 { return .broken("it switches to a protocol nobody asked for") }
    if status == 204 || status == 304 { return .head(head(.length(0))) }
    if isChunked { return .head(head(.chunked)) }
    switch length {
    case .none: return .head(head(.untilClose))
    case .of(let count): return .head(head(.length(count)))
    case .broken: return .broken("its length is no number, or two that differ")
    }
  }

  private func head(_ framing: BodyFraming) -> ResponseHead {
    ResponseHead(status: status, framing: framing)
  }
}

extension HeadReader {
  /// The three digits after the first space, or 0.
  private static func status(of line: UnsafeRawBufferPointer) -> Int {
    guard let space = line.firstIndex(of: Ascii.space) else { return 0 }
    return Ascii.number(line[(space + 1)...].prefix(3)).map(Int.init) ?? 0
  }

  /// The field's value without the white space around it, if the line is that field.
  private static func value(
    of name: StaticString, in line: UnsafeRawBufferPointer
  ) -> Slice<UnsafeRawBufferPointer>? {
    let length = name.utf8CodeUnitCount
    guard line.count > length, line[length] == Ascii.colon else { return nil }
    for index in 0..<length where Ascii.lowercased(line[index]) != name.utf8Start[index] {
      return nil
    }
    return Ascii.trimmed(line[(length + 1)...])
  }

  private static func namesChunked(_ value: Slice<UnsafeRawBufferPointer>) -> Bool {
    value.split(separator: Ascii.comma).contains { member in
      Ascii.trimmed(member).lazy.map(Ascii.lowercased).elementsEqual("chunked".utf8)
    }
  }
}

/// The few characters that heads are made of.
private enum Ascii {
  static let newline = UInt8(ascii: "\n")
  static let carriageReturn = UInt8(ascii: "\r")
  static let space = UInt8(ascii: " ")
  static let colon = UInt8(ascii: ":")
  static let comma = UInt8(ascii: ",")

  static func lowercased(_ byte: UInt8) -> UInt8 {
    UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
  }

  static func isBlank(_ byte: UInt8) -> Bool {
    byte == space || byte == UInt8(ascii: "\t") || byte == carriageReturn || byte == newline
  }

  static func trimmed(
    _ bytes: Slice<UnsafeRawBufferPointer>
  ) -> Slice<UnsafeRawBufferPointer> {
    var rest = bytes
    while let first = rest.first, isBlank(first) { rest.removeFirst() }
    while let last = rest.last, isBlank(last) { rest.removeLast() }
    return rest
  }

  /// The number that the digits write, or nothing if they are none, too many, or no digits.
  static func number(_ digits: Slice<UnsafeRawBufferPointer>) -> Int64? {
    if digits.isEmpty { return nil }
    var number: Int64 = 0
    for digit in digits {
      guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit else { return nil }
      let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
      let (sum, carry) = tens.addingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
      if overflow || carry { return nil }
      number = sum
    }
    return number
  }
}
