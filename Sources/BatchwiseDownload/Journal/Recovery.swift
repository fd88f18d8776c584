// SPDX-License-Identifier: Apache-2.0

/// An item of the list with what is to be done about it.
enum ListEntry: Sendable {
  case planned(PlannedItem, RecoveryPlan)
  case flawed(WorkItem, DownloadFailure)

  /// The item as the list wrote it.
  var source: WorkItem {
    switch self {
    case .planned(let item, _): item.source
    case .flawed(let item, _): item
    }
  }

  /// The item, if it is one that can be started.
  var item: PlannedItem? { if case .planned(let item, _) = self { item } else { nil } }
}

/// Finds out what is to be done about items: checks them, and asks the journal once for each.
struct Recovery {
  let journal: (any DownloadJournal)?
  /// Nil where bodies go to memory, for which nothing is recorded.
  let folder: OutputFolder?
  let digests: (any DigestMaker)?
  let options: DownloadOptions

  /// Used for the keys where no journal has a salt: they are then worth as much as this run.
  private let salt: UInt64

  init(
    journal: (any DownloadJournal)?, folder: OutputFolder?, digests: (any DigestMaker)?,
    options: DownloadOptions
  ) {
    self.journal = journal
    self.folder = folder
    self.digests = digests
    self.options = options
    salt = journal?.salt ?? .random(in: .min ... .max)
  }

  /// Removes partial files that killed runs left behind and that nothing can go on from.
  ///
  /// Without the journal it is not known which those are, apart from those that never can.
  func removeAbandonedPartials() async {
    await folder?.removeAbandonedPartials { key in
      guard let journal, let found = try? await journal.records(of: [key.item]) else { return true }
      let state: Validator?
      let record = found.first.flatMap { $0 }
      // What was forgotten begins anew.
      switch record?.isForgotten == true ? nil : record?.state {
      case .partial(let resume), .failed(_, _, let resume?): state = resume.validator
      case .done(let file) where folder?.recordedSize(of: file.path) == nil: state = file.validator
      case .done, .failed, .left, nil: state = nil
      }
      return state.map { PartialKey(key.item, $0) } == key
    }
  }

  /// Why a checksum cannot be compared with, or nil if it can.
  private func failure(for checksum: Checksum?) -> DownloadFailure? {
    guard let checksum else { return nil }
    guard let digests else {
      return DownloadFailure(.checksum, "Nothing here computes digests")
    }
    return digests.failure(for: checksum.algorithm)
  }

  /// Checks an item, the list's one of that number, and plans this for it if nothing is wrong with it.
  func entry(for item: WorkItem, number: Int, _ plan: RecoveryPlan = .new) -> ListEntry {
    do throws(DownloadFailure) {
      // A row keeps its number, however often and in whichever order rows are handed out.
      let number = item.mark.map { $0.row + 1 } ?? number
      let planned = try PlannedItem(item, naming: options.naming, number: number, salt: salt)
      if let failure = failure(for: item.checksum) { return .flawed(item, failure) }
      return .planned(planned, plan)
    } catch {
      return .flawed(item, error)
    }
  }

  /// The plan, unless the earlier file that it is about cannot be the right one.
  private func checked(_ plan: RecoveryPlan, of item: PlannedItem) -> RecoveryPlan {
    switch plan {
    case .alreadyDone(let file) where item.source.contradicts(file),
      .fetch(let file?, isConditional: true, _) where item.source.contradicts(file),
      .rename(let file) where item.source.contradicts(file) || !isKept(file, for: item):
      .fetch(previous: file, isConditional: false, resume: nil)
    default: plan
    }
  }

  /// Whether the partial file of an item is the whole file that was recorded, and not the part of
  /// another state of it that happens to be as long.
  private func isKept(_ file: StoredFile, for item: PlannedItem) -> Bool {
    guard let wanted = file.sha256, let folder else { return true }
    guard let digest = digests?.makeDigest(wanted.algorithm),
      let state = file.validator,
      let partial = try? PartialFile(keptFor: PartialKey(item.key, state), in: folder),
      (try? partial.file.read(from: 0, to: file.bytes, digest.update)) == file.bytes
    else { return false }
    return digest.finish() == wanted
  }

  /// The entries for items, in the same order; the first one is the list's item of that number.
  func entries(for items: [WorkItem], from first: Int) async throws(JournalError) -> [ListEntry] {
    var number = first - 1
    var entries = items.map { item -> ListEntry in
      number += 1
      return entry(for: item, number: number)
    }
    guard let folder else { return entries }
    if let journal {
      let keys = entries.compactMap { $0.item?.key }
      var records = try await journal.records(of: keys)[...]
      for index in entries.indices {
        guard let item = entries[index].item else { continue }
        var recorded = options.recorded
        if item.source.mark?.end != nil { recorded.retriesFailed = true }
        let plan = RecoveryPlan(
          records.popFirst() ?? nil, url: item.address.redacted, options: recorded,
          size: { folder.recordedSize(of: $0) },
          partialSize: { folder.partialSize(of: PartialKey(item.key, $0)) })
        entries[index] = .planned(item, checked(plan, of: item))
      }
    }
    if options.collisions == .skip || options.collisions == .fail {
      for (index, entry) in entries.enumerated() {
        guard case .planned(let item, .fetch(previous: nil, _, _)) = entry,
          (try? folder.hasEntry(item.path)) == true
        else { continue }
        entries[index] = .planned(item, .collision)
      }
    }
    return entries
  }
}

extension WorkItem {
  /// Whether the list says something else about a file than is recorded of it.
  fileprivate func contradicts(_ file: StoredFile) -> Bool {
    if let size, size != file.bytes { return true }
    guard let checksum, let digest = file.sha256 else { return false }
    return checksum.algorithm == digest.algorithm && checksum != digest
  }
}

extension ItemKey {
  /// The key of an item: of its address, of the name it wishes for, of its headers and of the user
  /// name and password, for by all of these two items may differ.
  ///
  /// FNV-1a with 64 bits, salted and folded to 63. Two of ten million items get the same key once in
  /// some hundred thousand lists, and then the recorded address tells them apart. What may be a secret
  /// goes in with 24 bits, so that it cannot be told from the key.
  init(of item: WorkItem, _ address: WebAddress, salt: UInt64) {
    var hash = StableHash<UInt64>(salt: salt)
    hash.add(address.redacted)
    hash.separate()
    if let name = item.name { hash.add(name) }
    if !item.headers.isEmpty || address.hasCredentials {
      var secrets = StableHash<UInt64>(salt: ~salt)
      secrets.add(address.absolute)
      for header in item.headers {
        secrets.separate()
        secrets.add(header.line)
      }
      hash.separate()
      hash.add("\(secrets.mixed & 0xff_ffff)")
    }
    self.init(rawValue: Int64(hash.mixed >> 1))
  }
}

extension StableHash<UInt64> {
  fileprivate init(salt: UInt64) {
    self.init()
    withUnsafeBytes(of: salt.littleEndian) { for byte in $0 { add(byte) } }
  }

  /// Takes in a byte that no text holds.
  fileprivate mutating func separate() { add(0xff) }

  /// The hash with every byte spread over every bit.
  fileprivate var mixed: UInt64 {
    var mixed = value
    for _ in 0..<2 { mixed = (mixed ^ (mixed >> 32)) &* 0xd6e8_feb8_6659_fd93 }
    return mixed ^ (mixed >> 32)
  }
}
