// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import SQLiteJournal
import TestSupport

extension TemporaryFolder {
  /// Where a test keeps its journal.
  var journal: String { path + "/journal.sqlite" }
}

/// A record that is easy to tell from others.
func done(_ key: Int64, bytes: Int64 = 10, path: String? = nil) -> ItemRecord {
  ItemRecord(
    key: ItemKey(rawValue: key), url: "http://example.org/\(key)",
    state: .done(
      StoredFile(path: path ?? "\(key)", bytes: bytes, sha256: nil, validator: nil)))
}

func failed(_ key: Int64, _ reason: DownloadFailure.Reason = .status) -> ItemRecord {
  ItemRecord(
    key: ItemKey(rawValue: key), url: "http://example.org/\(key)",
    state: .failed(DownloadFailure(reason, status: 404, "It went wrong"), attempts: 2, nil))
}

func partial(_ key: Int64) -> ItemRecord {
  ItemRecord(
    key: ItemKey(rawValue: key), url: "http://example.org/\(key)",
    state: .partial(ResumePoint(validator: .entityTag("\"1\""), total: key)))
}

func left(_ key: Int64) -> ItemRecord {
  ItemRecord(key: ItemKey(rawValue: key), url: "http://example.org/\(key)", state: .left)
}

func keys(_ numbers: some Sequence<Int64>) -> [ItemKey] { numbers.map { ItemKey(rawValue: $0) } }

extension SeededGenerator {
  /// A record with anything in it that the types allow.
  mutating func record(key: Int64) -> ItemRecord {
    var record = ItemRecord(key: ItemKey(rawValue: key), url: text(), state: state())
    if case .done = record.state { return record }
    record.previous = maybe { $0.storedFile() }
    return record
  }

  private mutating func storedFile() -> StoredFile {
    StoredFile(
      path: text(), bytes: count(), sha256: maybe { $0.checksum() },
      validator: maybe { $0.validator() })
  }

  private mutating func text() -> String {
    text(
      of: ["a", "http://", "\0", "é", "e\u{301}", "名前", "\u{1F600}", "'", "\"", "\n", " ", "%00"],
      upTo: 30)
  }

  private mutating func state() -> ItemRecord.State {
    switch Int.random(in: 0..<4, using: &self) {
    case 0:
      .done(storedFile())
    case 1:
      .failed(
        DownloadFailure(
          DownloadFailure.Reason.allCases.randomElement(using: &self) ?? .dns,
          status: maybe { Int.random(in: 100...599, using: &$0) }, text(), remedy: remedy()),
        attempts: Int.random(in: 0...9, using: &self), maybe { $0.resumePoint() })
    case 2:
      .partial(resumePoint())
    default: .left
    }
  }

  private mutating func resumePoint() -> ResumePoint {
    ResumePoint(validator: validator(), total: maybe { $0.count() })
  }

  private mutating func count() -> Int64 {
    [0, 1, 4096, .max].randomElement(using: &self) ?? .random(in: 0 ... .max, using: &self)
  }

  private mutating func checksum() -> Checksum {
    let algorithm = Checksum.Algorithm.allCases.randomElement(using: &self) ?? .sha256
    return Checksum(
      algorithm,
      bytes: (0..<algorithm.length).map { _ in UInt8.random(in: 0...255, using: &self) })
  }

  private mutating func validator() -> Validator {
    Bool.random(using: &self)
      ? .entityTag(text()) : .lastModified(text(), isStrong: .random(using: &self))
  }

  private mutating func remedy() -> DownloadFailure.Remedy {
    let pauses: [Duration?] = [
      nil, .zero, .seconds(120), .nanoseconds(-1), Duration(attoseconds: .max),
      Duration(attoseconds: .min),
    ]
    let remedies: [DownloadFailure.Remedy] =
      [.none, .anotherAttempt, .oneMoreAttempt, .fewerAtOnce, .moreRoom]
      + pauses.map { .leavingHostAlone($0) }
    return remedies.randomElement(using: &self) ?? .none
  }

  private mutating func maybe<Value>(_ make: (inout Self) -> Value) -> Value? {
    Bool.random(using: &self) ? make(&self) : nil
  }
}
