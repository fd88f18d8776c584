// SPDX-License-Identifier: Apache-2.0

/// What is to be done about an item, by what earlier runs have recorded of it.
enum RecoveryPlan: Sendable, Equatable {
  /// It is to be fetched: in place of an earlier file, only if that has changed, from where an
  /// earlier transfer broke off.
  case fetch(previous: StoredFile?, isConditional: Bool, resume: ResumePoint?)
  /// Its file is there.
  case alreadyDone(StoredFile)
  /// Something has the path that it wants, and nothing is to be asked for then.
  case collision
  /// Its file is whole and lacks only its name, for the process ended at that very moment.
  case rename(StoredFile)
  /// Nobody can tell, for the journal cannot be read; it is left, and what is recorded of it stands.
  case leave
  /// It has failed for good, and is not to be tried again.
  case failedBefore(DownloadFailure, attempts: Int)

  /// Nothing is known of it.
  static let new = RecoveryPlan.fetch(previous: nil, isConditional: false, resume: nil)

  /// Decides.
  ///
  /// - Parameters:
  ///   - record: What is recorded of the item.
  ///   - url: The item's address, which must be the recorded one.
  ///   - options: What the user wants done.
  ///   - size: The length of the file at a path in the output folder, nil if there is none.
  ///   - partialSize: The length of the item's partial file of a state, nil if there is none.
  init(
    _ record: ItemRecord?, url: String, options: DownloadOptions.Recorded,
    size: (_ path: String) -> Int64?, partialSize: (_ state: Validator) -> Int64?
  ) {
    guard let record, record.url == url else {
      self = .new
      return
    }
    let startsAnew = record.isForgotten
    switch record.state {
    case .done(let file) where startsAnew:
      self = .fetch(previous: file, isConditional: false, resume: nil)
    case .done(let file) where size(file.path) == file.bytes:
      let asks = options.refreshesDone && file.validator != nil
      self =
        asks
        ? .fetch(previous: file, isConditional: true, resume: nil) : .alreadyDone(file)
    case .done(let file)
    where size(file.path) == nil && file.validator.flatMap(partialSize) == file.bytes:
      self = .rename(file)
    case .done(let file):
      self = .fetch(previous: file, isConditional: false, resume: nil)
    case .failed(let failure, let attempts, _) where !options.retriesFailed && !startsAnew:
      self = .failedBefore(failure, attempts: attempts)
    case .failed(_, _, let resume):
      self = .fetch(
        previous: record.previous, isConditional: false, resume: startsAnew ? nil : resume)
    case .partial(let resume):
      self = .fetch(
        previous: record.previous, isConditional: false, resume: startsAnew ? nil : resume)
    case .left: self = .fetch(previous: record.previous, isConditional: false, resume: nil)
    }
  }
}

extension StoredFile {
  /// Its path, unless the journal names one that leads elsewhere.
  var outputPath: OutputPath? { try? OutputPath(listed: path) }
}
