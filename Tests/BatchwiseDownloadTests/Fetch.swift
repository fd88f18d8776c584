// SPDX-License-Identifier: Apache-2.0

import TestSupport

@testable import BatchwiseDownload

/// One run of a downloader with a fake transport into a folder, and what became of it.
struct Fetch {
  let downloader: DownloadRun
  let transport: FakeTransport
  let log = EventLog()
  let folder: TemporaryFolder

  init(
    into folder: TemporaryFolder? = nil, limit: Int = 3, namelessFiles: Bool = true,
    options: DownloadOptions? = nil, digests: (any DigestMaker)? = nil,
    journal: (any DownloadJournal)? = nil,
    _ answer: @escaping @Sendable (_ url: String) async -> FakeTransport.Answer
  ) throws {
    let folder = try folder ?? TemporaryFolder()
    self.folder = folder
    transport = FakeTransport(answer)
    downloader = DownloadRun(
      transport: transport,
      folder: try OutputFolder(path: folder.path, namelessFiles: namelessFiles),
      options: options ?? .limited(to: limit), digests: digests, journal: journal)
  }

  /// Runs a list of addresses.
  @discardableResult
  func run(_ addresses: [String]) async -> DownloadReport {
    await run(WorkList(addresses: addresses))
  }

  /// Runs a source.
  func run(_ source: some WorkSource) async -> DownloadReport {
    await downloader.run(source, reportingTo: log)
  }
}

extension DownloadOptions {
  /// So many at once, to one host too, and without a second attempt.
  static func limited(to limit: Int) -> DownloadOptions {
    var options = DownloadOptions()
    options.limit = limit
    options.limitPerHost = limit
    options.retries = 0
    return options
  }
}

extension DownloadEvent.Kind {
  /// The word for what happened.
  var word: String {
    switch self {
    case .started: "started"
    case .retry: "retry"
    case .done: "done"
    case .failed: "failed"
    case .skipped: "skipped"
    }
  }
}
