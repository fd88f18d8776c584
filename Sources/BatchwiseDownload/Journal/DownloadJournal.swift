// SPDX-License-Identifier: Apache-2.0

/// The durable record of an output folder, by which a later run does only the rest: the seam between
/// the downloader and a database.
///
/// It is asked once for each item, when the item is read from the list, and otherwise only written.
/// What was recorded before the process was killed is there for the next one.
public protocol DownloadJournal: Sendable {
  /// A random number that was made with the journal; keys are made with it.
  var salt: UInt64 { get }

  /// The latest records of these items, nil for those that have none.
  ///
  /// - Complexity: O(log *n*) an item for *n* records; next to nothing while the journal is new.
  func records(of keys: [ItemKey]) async throws(JournalError) -> [ItemRecord?]

  /// Adds records, each of which takes the place of an earlier one of its item.
  ///
  /// When it returns, they survive the end of the process, but not yet a failure of the power.
  func append(_ records: [ItemRecord]) async throws(JournalError)
}

/// What tells an item of a list from all others, in every run: 63 bits of a digest.
public struct ItemKey: Sendable, Hashable {
  /// The number, which is not negative.
  public let rawValue: Int64

  /// Wraps a number that is not negative.
  public init(rawValue: Int64) {
    precondition(rawValue >= 0, "A key of \(rawValue)")
    self.rawValue = rawValue
  }
}

/// What the journal knows of one item, which holds no secret.
public struct ItemRecord: Sendable, Equatable {
  /// The item's key.
  public var key: ItemKey
  /// The item's address, without user name and password.
  public var url: String
  /// What became of it.
  public var state: State
  /// The file that an earlier run has brought for an item that is not done: what comes may replace it.
  public var previous: StoredFile?
  /// Whether it was to be forgotten: the item counts as one to be done, and its files as ones that
  /// this folder's runs have written and may replace.
  ///
  /// Only told by a journal; a record that is appended is not forgotten, whatever this says.
  public var isForgotten: Bool

  /// What became of an item.
  public enum State: Sendable, Equatable {
    /// Its file has its final name, or was about to get it when the process ended.
    case done(StoredFile)
    /// It failed for good, and may have left a part of its file to go on from.
    case failed(DownloadFailure, attempts: Int, ResumePoint?)
    /// A part of its file is kept, from which a later attempt can go on.
    case partial(ResumePoint)
    /// It was read from the list, and the run ended before it did.
    case left
  }

  /// Describes a record.
  public init(
    key: ItemKey, url: String, state: State, previous: StoredFile? = nil, isForgotten: Bool = false
  ) {
    self.key = key
    self.url = url
    self.state = state
    self.previous = previous
    self.isForgotten = isForgotten
  }
}

/// A file under its final name.
public struct StoredFile: Sendable, Equatable {
  /// Its path, relative to the output folder.
  public var path: String
  /// Its length in bytes.
  public var bytes: Int64
  /// Its SHA-256, if it was computed.
  public var sha256: Checksum?
  /// What its server called this state of the file.
  public var validator: Validator?

  /// Describes a file.
  public init(path: String, bytes: Int64, sha256: Checksum?, validator: Validator?) {
    self.path = path
    self.bytes = bytes
    self.sha256 = sha256
    self.validator = validator
  }
}

/// From what a broken transfer can go on: the item's partial file, whose length is how far it got.
public struct ResumePoint: Sendable, Equatable {
  /// What its server called the state of the file that the bytes belong to.
  public var validator: Validator
  /// The length of the whole file, if the server told.
  public var total: Int64?

  /// Describes a resume point.
  public init(validator: Validator, total: Int64?) {
    self.validator = validator
    self.total = total
  }
}

/// What a server calls one state of a file (RFC 9110, section 8.8).
public enum Validator: Sendable, Hashable {
  /// An entity tag, quotes included, and `W/` if it is a weak one.
  case entityTag(String)
  /// The time of the last change, as the server wrote it, and whether it lies far enough back to tell
  /// two states apart for sure.
  case lastModified(String, isStrong: Bool)

  /// Whether two files of this state are the same byte for byte, so that parts of them fit together.
  public var isStrong: Bool {
    switch self {
    case .entityTag(let tag): !tag.hasPrefix("W/")
    case .lastModified(_, let isStrong): isStrong
    }
  }
}

/// Why a journal cannot be used, or used on.
public struct JournalError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What kind of trouble it is.
  public enum Kind: Sendable, Hashable {
    /// It cannot be made or opened.
    case unusable
    /// Another run uses it.
    case inUse
    /// It is no journal, or one of a later version of the program.
    case foreign
    /// It is damaged.
    case damaged
    /// There is no room for it on the disk.
    case diskFull
    /// It cannot be read or written, for another reason.
    case failed
  }

  /// What kind of trouble it is.
  public var kind: Kind
  /// What happened and what can be done about it, as a sentence.
  public var description: String

  /// Describes a trouble.
  public init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }
}
