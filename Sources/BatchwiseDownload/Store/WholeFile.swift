// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A file that is whole and right, on its way to its final name.
final class WholeFile: Sendable {
  let job: DownloadJob
  /// What is told of it; nil if an earlier run has fetched it, and ended before it had its name.
  let download: DownloadedFile?
  private let stored: StoredFile
  private let partial: Mutex<PartialFile?>
  /// The bytes, if they are in memory.
  let body: HeldBody?

  /// A file that this run has fetched.
  init(
    _ partial: consuming PartialFile?, _ body: HeldBody?, of job: DownloadJob,
    _ download: DownloadedFile, validator: Validator?
  ) {
    self.job = job
    self.download = download
    stored = StoredFile(
      path: job.path.description, bytes: download.bytes, sha256: download.sha256,
      validator: validator)
    self.partial = Mutex(consume partial)
    self.body = body
  }

  /// A file that an earlier run has kept for its item.
  init(keptFor job: DownloadJob, _ stored: StoredFile) {
    self.job = job
    download = nil
    self.stored = stored
    partial = Mutex(nil)
    body = nil
  }

  /// What the journal is told before the file has the path.
  func record(as path: OutputPath) -> ItemRecord {
    var file = stored
    file.path = path.description
    return job.item.record(.done(file))
  }

  /// Gives the file a path; see ``PartialFile/commit(as:replacing:)``.
  func commit(
    as path: OutputPath, replacing: Bool, in folder: OutputFolder
  ) throws(DownloadFailure) -> CommitResult {
    try partial.withLock { partial throws(DownloadFailure) in
      if partial == nil, download == nil {
        do throws(SystemError) {
          if let state = stored.validator {
            partial = try PartialFile(keptFor: PartialKey(job.item.key, state), in: folder)
          }
        } catch {
          throw DownloadFailure(disk: error)
        }
      }
      guard let result = try partial?.commit(as: path, replacing: replacing) else {
        throw DownloadFailure(.disk, "The partial file is gone")
      }
      if result == .taken { return result }
      // Of no more use, whoever brought it.
      if result == .unchanged { partial?.discard() }
      partial = nil
      // Of an earlier attempt that could not be gone on with.
      if let resume = job.resume { folder.removePartial(resume.partialKey(of: job.item.key)) }
      return result
    }
  }

  /// Gives the bytes up, unless they are kept for a later attempt.
  func giveUp() { partial.withLock { $0 = nil } }

  /// Whether a file of an earlier run that has the path holds the same bytes.
  func isThere(as path: OutputPath, in folder: OutputFolder) -> Bool {
    partial.withLock { $0?.holdsSameBytes(as: path) ?? false }
  }

  /// Lays the body down for whoever takes it, as a settlement.
  func keepBody(in store: BodyStore?) -> Settlement {
    guard let store, let body, let download else { return .left }
    store.keep(body, for: job.id)
    return .done(download)
  }
}
