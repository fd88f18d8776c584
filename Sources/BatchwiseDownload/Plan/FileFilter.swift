// SPDX-License-Identifier: Apache-2.0

/// Which files are wanted, by their size and by their kind.
///
/// A file is judged as early as can be: by the head of the answer, by its first bytes, by its length
/// while it grows, and at its end. Each judgement is nil or what is wrong with the file.
public struct FileFilter: Sendable, Equatable {
  /// The most bytes that a file may have.
  public var largest: Int64?

  /// The fewest bytes that a file may have.
  public var smallest: Int64?

  /// What kind it shall be of.
  public var kind: WantedKind?

  /// How many of a file's first bytes tell its kind.
  public static let firstBytes = 512

  /// Describes which files are wanted; all are, of what nothing is said.
  public init(largest: Int64? = nil, smallest: Int64? = nil, kind: WantedKind? = nil) {
    self.largest = largest
    self.smallest = smallest
    self.kind = kind
  }

  /// Judges by what the head of an answer says, before anything of the file has come: the length of the
  /// whole file and the media type without parameters, each if it was given.
  public func failure(length: Int64?, mediaType: String?) -> DownloadFailure? {
    if let length, let failure = failure(length: length, "The server announces") { return failure }
    guard let kind, let named = MediaType(named: mediaType), !named.isUnspecific,
      !kind.includes(named)
    else { return nil }
    return DownloadFailure(
      .wrongType, "The server calls the file \(named.description.harmless); wanted was \(kind)")
  }

  /// Whether the first bytes have to be looked at.
  public var needsFirstBytes: Bool { kind != nil }

  /// Judges by the first bytes, for a media type that has been found right or is not there.
  ///
  /// They are the first ``firstBytes`` bytes, or all if the file is shorter.
  public func failure(
    firstBytes bytes: UnsafeRawBufferPointer, mediaType: String?
  ) -> DownloadFailure? {
    guard let kind else { return nil }
    let named = MediaType(named: mediaType).flatMap { kind.includes($0) ? $0 : nil }
    // What the file is said to be, or has to be.
    let said = named ?? kind.exact
    guard let found = Signature(of: bytes) else {
      if let named, !named.hasSureSignature, !(bytes.isEmpty && named.type == "image") {
        return nil
      }
      let what =
        bytes.isEmpty ? "The file is empty" : "The first bytes are of no kind that is known"
      return DownloadFailure(.wrongType, "\(what); wanted was \(said?.description ?? "\(kind)")")
    }
    if kind.includes(found.type) || named?.isUnspecific == true { return nil }
    if let said, found.mayBe(said) { return nil }
    return DownloadFailure(
      .wrongType, "The first bytes are those of \(found.words); wanted was \(kind)")
  }

  /// Judges by how much of the file has come, while it may still grow.
  public func failure(received count: Int64) -> DownloadFailure? {
    guard let largest, count > largest else { return nil }
    return DownloadFailure(
      .tooLarge, "More than \(largest) bytes came; at most \(largest) were wanted")
  }

  /// Judges by the length of the whole file.
  public func failure(wholeLength count: Int64) -> DownloadFailure? {
    failure(length: count, "The file has")
  }

  private func failure(length: Int64, _ subject: String) -> DownloadFailure? {
    if let largest, length > largest {
      return DownloadFailure(
        .tooLarge, "\(subject) \(length) bytes; at most \(largest) were wanted")
    }
    if let smallest, length < smallest {
      return DownloadFailure(
        .tooSmall, "\(subject) \(length) bytes; at least \(smallest) were wanted")
    }
    return nil
  }
}

/// What kind of file is wanted: one media type, or all with the first half of one.
public struct WantedKind: Sendable, Hashable, CustomStringConvertible {
  private let type: String
  /// Nil for any.
  private let subtype: String?

  /// Any picture.
  public static let image = WantedKind(type: "image", subtype: nil)

  /// Takes `image`, a media type such as `image/png`, or `type/*`.
  ///
  /// Nil if it is none of them.
  public init?(_ text: String) {
    let parts = text.lowercased().split(separator: "/", omittingEmptySubsequences: false)
    guard let type = parts.first, MediaType.isToken(type) else { return nil }
    switch parts.count {
    case 1 where type == "image": self = .image
    case 2 where parts[1] == "*": self.init(type: String(type), subtype: nil)
    case 2 where MediaType.isToken(parts[1]):
      // Of several names for one kind, the usual one.
      let known = MediaType(type: String(type), subtype: String(parts[1])).usual
      self.init(type: known.type, subtype: known.subtype)
    default: return nil
    }
  }

  private init(type: String, subtype: String?) {
    self.type = type
    self.subtype = subtype
  }

  /// As it is written on the command line.
  public var description: String { "\(type)/\(subtype ?? "*")" }

  func includes(_ other: MediaType) -> Bool {
    type == other.type && (subtype == nil || subtype == other.subtype)
  }

  /// The one media type, if it is one.
  var exact: MediaType? { subtype.map { MediaType(type: type, subtype: $0) } }
}
