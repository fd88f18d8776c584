// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import Observation
import TestSupport

@testable import BatchwiseUI

/// A batch as a view has it: a folder, a transport without a network, and a model over both.
@MainActor
final class Look {
  let folder: TemporaryFolder
  let transport: FakeTransport
  private(set) var batch: DownloadBatch?

  init(
    _ urls: [String], limit: Int = 3, journal: (any DownloadJournal)? = nil,
    thumbnailBytes: Int = 1 << 20, clock: some Clock<Duration> = ContinuousClock(),
    _ answer: @escaping @Sendable (_ url: String) async -> FakeTransport.Answer
  ) throws {
    folder = try TemporaryFolder()
    transport = FakeTransport(answer)
    var options = DownloadOptions()
    options.limitPerHost = .max
    options.retries = 0
    batch = DownloadBatch(
      urls, to: try OutputFolder(path: folder.path), limit: limit, transport: transport,
      options: options, journal: journal, thumbnailBytes: thumbnailBytes, clock: clock)
  }

  /// Lets the batch go.
  func drop() { batch = nil }
}

extension DownloadBatch {
  /// Waits until it is as wanted, by what an observer is told and by nothing else.
  func wait(until isReached: (DownloadBatch) -> Bool) async {
    while !Task.isCancelled {
      let gate = Gate()
      let isThere = withObservationTracking {
        isReached(self)
      } onChange: {
        gate.open()
      }
      if isThere { return }
      try? await gate.passUnlessCancelled()
    }
  }

  /// The kinds of all rows.
  var kinds: [DownloadRow.Kind] { rows.map(\.kind) }
}

/// Addresses of one host.
func urls(_ range: Range<Int>) -> [String] { range.map { "http://h/\($0)" } }

extension FakeTransport.Answer {
  /// A file of so many bytes whose first ones are those of a PNG picture.
  static func picture(_ bytes: Int) -> FakeTransport.Answer {
    let start: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
    let body = start + [UInt8](repeating: 7, count: max(0, bytes - start.count))
    return .body(ResponseHead(status: 200, framing: .length(Int64(body.count))), body)
  }
}
