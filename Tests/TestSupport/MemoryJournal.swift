// SPDX-License-Identifier: Apache-2.0

public import BatchwiseDownload
public import BatchwiseTesting
internal import Synchronization

/// A journal in memory, which a test can look into, hold up and let fail.
public final class MemoryJournal: DownloadJournal {
  /// A number that is the same in every test.
  public let salt: UInt64 = 0x5A17

  /// Every call of `append`, in order; those that failed are not among them.
  public let appended = Watched<[[ItemRecord]]>([])

  /// Every item that was asked for, in order.
  public let asked = Watched<[ItemKey]>([])

  private let contents: Mutex<Contents>

  private struct Contents {
    var records: [ItemKey: ItemRecord] = [:]
    var answer: @Sendable ([ItemRecord]) async -> JournalError? = { _ in nil }
  }

  /// Makes a journal that knows these records.
  public init(_ records: [ItemRecord] = []) {
    contents = Mutex(Contents())
    contents.withLock { for record in records { $0.records[record.key] = record } }
  }

  /// The latest record of each item.
  public var records: [ItemKey: ItemRecord] { contents.withLock { $0.records } }

  /// From now on `append` first waits for the closure, and fails with what it returns, if anything.
  public func onAppend(_ answer: @escaping @Sendable ([ItemRecord]) async -> JournalError?) {
    contents.withLock { $0.answer = answer }
  }

  /// Makes every record so far one of an item that is to be done again.
  public func forget() {
    contents.withLock { contents in
      for key in contents.records.keys { contents.records[key]?.isForgotten = true }
    }
  }

  /// The latest records of these items, nil for those that have none.
  public func records(of keys: [ItemKey]) async throws(JournalError) -> [ItemRecord?] {
    asked.update { $0 += keys }
    return contents.withLock { contents in keys.map { contents.records[$0] } }
  }

  /// Adds records, if `onAppend` does not say otherwise.
  public func append(_ records: [ItemRecord]) async throws(JournalError) {
    let answer = contents.withLock { $0.answer }
    if let error = await answer(records) { throw error }
    contents.withLock { contents in
      for var record in records {
        record.isForgotten = false
        contents.records[record.key] = record
      }
    }
    appended.update { $0.append(records) }
  }
}
