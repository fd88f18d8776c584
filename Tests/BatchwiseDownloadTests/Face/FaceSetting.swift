// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import TestSupport

@testable import BatchwiseDownload

/// A downloader on a fake transport, with a folder for its files.
struct FaceSetting {
  let transport: FakeTransport
  let downloader: BatchDownloader
  let place: TemporaryFolder
  let folder: OutputFolder

  init(
    options: DownloadOptions = .limited(to: 3), digests: (any DigestMaker)? = nil,
    memory: Int = 1 << 20,
    _ answer: @escaping @Sendable (_ url: String) async -> FakeTransport.Answer
  ) throws {
    transport = FakeTransport(answer)
    downloader = BatchDownloader(
      transport: transport, options: options, digests: digests, memory: memory)
    place = try TemporaryFolder()
    folder = try OutputFolder(path: place.path)
  }

  /// How many requests have been made.
  var requests: Int { transport.record.value.urls.count }
  /// How many are in flight.
  var inFlight: Int { transport.record.value.inFlight }
}

/// Addresses on one host, with the numbers as their paths.
func addresses(_ numbers: Range<Int>) -> [String] { numbers.map { "http://h/\($0)" } }

/// A task-local reading of what a throwing call ends with.
func failure<Value: Sendable>(
  of call: () async throws -> Value
) async -> (any Error)? {
  do {
    _ = try await call()
    return nil
  } catch {
    return error
  }
}

extension Result {
  /// The failure, if it is one.
  var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}
