// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseDownload
import TestSupport
import Testing

/// A downloader on a transport, beside an origin, with a folder for its files.
struct FaceSetting: Sendable {
  let origin: MisbehavingOrigin
  let downloader: BatchDownloader
  /// The most bytes of bodies in memory.
  let bound: Int
  private let place: TemporaryFolder

  init(
    _ carrier: Carrier, origin: MisbehavingOrigin? = nil, trusting certificates: String? = nil,
    bound: Int = 16 << 20,
    _ change: (inout DownloadOptions) -> Void = { _ in }
  ) throws {
    self.origin = try origin ?? MisbehavingOrigin()
    self.bound = bound
    place = try TemporaryFolder()
    var options = DownloadOptions()
    options.limitPerHost = 64
    options.retries = 0
    options.backoff = .constant(.zero)
    change(&options)
    downloader = BatchDownloader(
      transport: try carrier.make(userAgent: "tester/1", trusting: certificates), options: options)
  }

  func folder() throws -> OutputFolder { try OutputFolder(path: place.path) }

  /// The files that are there under a name.
  var files: [String] { place.files }

  func outcome(_ file: FileResult) -> Face.Outcome {
    guard case .done(let done) = file, let bytes = place[done.name] else {
      Issue.record("\(file) is not done, or not there")
      return Face.Outcome(result: .success([]))
    }
    #expect(done.bytes == bytes.count)
    return Face.Outcome(
      result: .success(bytes), attempts: done.attempts, isMeasured: done.proof != .unverified)
  }

  func outcome(_ result: Result<FileResult, DownloadFailure>) -> Face.Outcome {
    switch result {
    case .success(let file): outcome(file)
    case .failure(let failure): Face.Outcome(result: .failure(failure))
    }
  }

  /// Downloads paths of the origin.
  func download(
    _ paths: [String], by face: Face, limit: Int = 3
  ) async throws -> [Face.Outcome] {
    try await download(paths.map { DownloadRequest(origin.url($0)) }, by: face, limit: limit)
  }

  /// Downloads a list; of a face that throws the first failure, that is the only outcome.
  func download(
    _ requests: [DownloadRequest], by face: Face, limit: Int = 3
  ) async throws -> [Face.Outcome] {
    do {
      return try await face.download(requests, limit, self)
    } catch let failure as DownloadFailure where face.isFailFast {
      return [Face.Outcome(result: .failure(failure))]
    }
  }

  /// Downloads one path of the origin, which is answered in this way.
  func download(
    _ behaviour: MisbehavingOrigin.Behaviour, by face: Face
  ) async throws -> Face.Outcome {
    origin.on("/item", behaviour)
    let outcomes = try await download(["/item"], by: face)
    #expect(outcomes.count == 1)
    return try #require(outcomes.first)
  }
}
