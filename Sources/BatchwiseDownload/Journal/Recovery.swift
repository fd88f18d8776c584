// SPDX-License-Identifier: Apache-2.0

/// An item of the list with what is to be done about it.
enum ListEntry: Sendable {
  case planned(PlannedItem, RecoveryPlan)
  case flawed(WorkItem, DownloadFailure)
}

/// Finds out what is to be done about items: checks them, and asks the journal once for each.
struct Recovery {
  let journal: (any DownloadJournal)?
  let folder: OutputFolder
  let digests: (any DigestMaker)?
  let options: DownloadOptions

  /// Used for the keys where no journal has a salt: they are then worth as much as this run.
  private let salt: UInt64

  init(
    journal: (any DownloadJournal)?, folder: OutputFolder, digests: (any DigestMaker)?,
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
    await folder.removeAbandonedPartials { key in
      guard let journal, let found = try? await journal.records(of: [key]) else { return true }
      switch found.first.flatMap({ $0 })?.state {
      case .partial, .failed(_, _, .some): return true
      case .done(let file): return folder.size(of: file.path) == nil
      case .failed, .left, nil: return false
      }
    }
  }

  /// The entries for items, in the same order.
  func entries(for items: [WorkItem]) async throws(JournalError) -> [ListEntry] {
    var entries = items.map { item in
      do throws(DownloadFailure) {
        return ListEntry.planned(try PlannedItem(item, salt: salt), .new)
      } catch {
        return .flawed(item, error)
      }
    }
    guard let journal else { return entries }
    let keys = entries.compactMap { entry in
      if case .planned(let item, _) = entry { item.key } else { nil }
    }
    var records = try await journal.records(of: keys)[...]
    for index in entries.indices {
      guard case .planned(let item, _) = entries[index] else { continue }
      let plan = RecoveryPlan(
        records.popFirst() ?? nil, url: item.address.redacted, options: options.recorded,
        size: folder.size(of:), partialSize: { folder.partialSize(of: item.key) })
      entries[index] = .planned(item, plan)
    }
    return entries
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
    var hash = FNV(salt: salt)
    hash.take(address.redacted)
    if let name = item.name { hash.take(name) }
    if !item.headers.isEmpty || address.hasCredentials {
      var secrets = FNV(salt: ~salt)
      secrets.take(address.absolute)
      for header in item.headers { secrets.take(header.line) }
      hash.take("\(secrets.mixed & 0xff_ffff)")
    }
    self.init(rawValue: Int64(hash.mixed >> 1))
  }

  private struct FNV {
    private var hash: UInt64

    init(salt: UInt64) { hash = 0xcbf2_9ce4_8422_2325 ^ salt }

    mutating func take(_ text: String) {
      for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
      hash = (hash ^ 0xff) &* 0x100_0000_01b3  // No text holds this byte.
    }

    /// The sum in which every byte has reached every bit.
    var mixed: UInt64 {
      var mixed = hash
      for _ in 0..<2 { mixed = (mixed ^ (mixed >> 32)) &* 0xd6e8_feb8_6659_fd93 }
      return mixed ^ (mixed >> 32)
    }
  }
}
