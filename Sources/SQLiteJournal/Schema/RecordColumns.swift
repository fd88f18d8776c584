// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

/// How a record lies in the columns of its table.
///
/// Words stand for reasons, so that the file can be read with any tool; numbers for what has no word.
enum RecordColumns {
  static let list = """
    id, key, state, url, name, size, digest, validator, dated, reason, status, attempts, message, \
    remedy, pause, part, part_dated, part_size
    """

  static let insert = """
    INSERT INTO record (\(list)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, \
    ?14, ?15, ?16, ?17, ?18)
    """

  /// The values of the column `state`.
  enum State {
    static let done: Int64 = 0
    static let failed: Int64 = 1
    static let partial: Int64 = 2
    static let left: Int64 = 3
  }

  // MARK: - Writing

  /// Binds the record's values to the parameters of ``insert``.
  ///
  /// The texts lie in the buffer, which must stay as it is until the statement has run.
  static func bind(
    _ record: ItemRecord, id: Int64, to statement: Statement, _ buffer: inout TextBuffer
  ) throws(JournalError) {
    statement.clearParameters()
    buffer.removeAll()
    buffer.reserve(longest(of: record))
    statement.bind(id, 1)
    statement.bind(record.key.rawValue, 2)
    try statement.bind(text: buffer.add(record.url), 4)
    if let file = record.file { try bind(file, to: statement, &buffer) }
    switch record.state {
    case .done: statement.bind(State.done, 3)
    case .failed(let failure, let attempts, let resume):
      statement.bind(State.failed, 3)
      if let resume { try bind(resume, to: statement, &buffer) }
      try statement.bind(text: buffer.add(failure.reason.rawValue), 10)
      if let status = failure.status { statement.bind(Int64(status), 11) }
      statement.bind(Int64(attempts), 12)
      try statement.bind(text: buffer.add(failure.message), 13)
      let (remedy, pause) = numbers(of: failure.remedy)
      statement.bind(remedy, 14)
      if let pause { try statement.bind(blob: buffer.add(pause), 15) }
    case .partial(let point):
      statement.bind(State.partial, 3)
      try bind(point, to: statement, &buffer)
    case .left:
      statement.bind(State.left, 3)
    }
  }

  private static func bind(
    _ file: StoredFile, to statement: Statement, _ buffer: inout TextBuffer
  ) throws(JournalError) {
    try statement.bind(text: buffer.add(file.path), 5)
    statement.bind(file.bytes, 6)
    if let digest = file.sha256 { try statement.bind(blob: buffer.add(digest), 7) }
    if let validator = file.validator { try bind(validator, at: 8, of: statement, &buffer) }
  }

  private static func bind(
    _ point: ResumePoint, to statement: Statement, _ buffer: inout TextBuffer
  ) throws(JournalError) {
    try bind(point.validator, at: 16, of: statement, &buffer)
    if let total = point.total { statement.bind(total, 18) }
  }

  /// Binds a validator to the parameter at an index and to the next one.
  private static func bind(
    _ validator: Validator, at index: Int32, of statement: Statement, _ buffer: inout TextBuffer
  ) throws(JournalError) {
    switch validator {
    case .entityTag(let tag):
      try statement.bind(text: buffer.add(tag), index)
    case .lastModified(let date, let isStrong):
      try statement.bind(text: buffer.add(date), index)
      statement.bind(isStrong ? 1 : 0, index + 1)
    }
  }

  private static func longest(of record: ItemRecord) -> Int {
    // Room for a digest, a reason and a pause, too.
    let fixed = 160
    let others =
      switch record.state {
      case .done, .left: 0
      case .failed(let failure, _, let resume):
        failure.message.utf8.count + length(of: resume?.validator)
      case .partial(let point): length(of: point.validator)
      }
    return record.url.utf8.count + length(of: record.file) + others + fixed
  }

  private static func length(of file: StoredFile?) -> Int {
    file.map { $0.path.utf8.count + length(of: $0.validator) } ?? 0
  }

  private static func length(of validator: Validator?) -> Int {
    switch validator {
    case .entityTag(let text)?, .lastModified(let text, _)?: text.utf8.count
    case nil: 0
    }
  }

  private static func numbers(of remedy: DownloadFailure.Remedy) -> (Int64, pause: Int128?) {
    switch remedy {
    case .none: (0, nil)
    case .anotherAttempt: (1, nil)
    case .oneMoreAttempt: (2, nil)
    case .leavingHostAlone(let pause): (3, pause?.attoseconds)
    case .fewerAtOnce: (4, nil)
    case .moreRoom: (5, nil)
    }
  }

  // MARK: - Reading

  /// The record in a row that has the columns of ``list``.
  static func record(in row: Statement, isForgotten: Bool) throws(JournalError) -> ItemRecord {
    let state = try state(in: row)
    var previous: StoredFile?
    if case .done = state {} else if !row.isNull(4) { previous = try storedFile(in: row) }
    return ItemRecord(
      key: ItemKey(rawValue: try row.count(1)), url: try row.text(3), state: state,
      previous: previous, isForgotten: isForgotten)
  }

  private static func state(in row: Statement) throws(JournalError) -> ItemRecord.State {
    switch try row.number(2) {
    case State.done:
      return .done(try storedFile(in: row))
    case State.failed:
      let word = try row.text(9)
      guard let reason = DownloadFailure.Reason(rawValue: word) else {
        throw row.damaged("A failure has an unknown reason")
      }
      let failure = DownloadFailure(
        reason, status: try row.optional(10, row.number).map { Int($0) },
        try row.text(12), remedy: try remedy(in: row))
      return .failed(
        failure, attempts: Int(try row.count(11)),
        row.isNull(15) ? nil : try resumePoint(in: row))
    case State.partial:
      return .partial(try resumePoint(in: row))
    case State.left:
      return .left
    default:
      throw row.damaged("A record has an unknown state")
    }
  }

  private static func storedFile(in row: Statement) throws(JournalError) -> StoredFile {
    StoredFile(
      path: try row.text(4), bytes: try row.count(5),
      sha256: try row.optional(6) { (column) throws(JournalError) in
        try checksum(try row.blob(column), row)
      },
      validator: row.isNull(7) ? nil : try validator(in: row, at: 7))
  }

  private static func resumePoint(in row: Statement) throws(JournalError) -> ResumePoint {
    ResumePoint(
      validator: try validator(in: row, at: 15), total: try row.optional(17, row.count))
  }

  private static func validator(
    in row: Statement, at column: Int32
  ) throws(JournalError) -> Validator {
    let text = try row.text(column)
    switch try row.optional(column + 1, row.number) {
    case nil: return .entityTag(text)
    case 0: return .lastModified(text, isStrong: false)
    case 1: return .lastModified(text, isStrong: true)
    default: throw row.damaged("A validator has an unknown kind")
    }
  }

  private static func checksum(
    _ bytes: [UInt8], _ row: Statement
  ) throws(JournalError) -> Checksum {
    guard let algorithm = Checksum.Algorithm.allCases.first(where: { $0.length == bytes.count })
    else { throw row.damaged("A digest has \(bytes.count) bytes") }
    return Checksum(algorithm, bytes: bytes)
  }

  private static func remedy(
    in row: Statement
  ) throws(JournalError) -> DownloadFailure.Remedy {
    switch try row.number(13) {
    case 0: return .none
    case 1: return .anotherAttempt
    case 2: return .oneMoreAttempt
    case 3:
      return .leavingHostAlone(
        try row.optional(14) { (column) throws(JournalError) in
          try pause(try row.blob(column), row)
        })
    case 4: return .fewerAtOnce
    case 5: return .moreRoom
    default: throw row.damaged("A failure has an unknown remedy")
    }
  }

  private static func pause(_ bytes: [UInt8], _ row: Statement) throws(JournalError) -> Duration {
    guard bytes.count == 16 else { throw row.damaged("A pause has \(bytes.count) bytes") }
    let bits = bytes.reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
    return Duration(attoseconds: Int128(truncatingIfNeeded: bits))
  }
}

extension ItemRecord {
  /// The file that its columns hold: its own, or the previous one.
  fileprivate var file: StoredFile? { if case .done(let file) = state { file } else { previous } }
}
