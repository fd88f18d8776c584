// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import Dispatch
import TestSupport
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A way to have a list downloaded, seen as what all of them have in common.
///
/// A further one is a further value in ``all``: what is written here once then holds for it too.
struct Face: Sendable, CustomTestStringConvertible {
  /// What a request has brought, as every face can tell it.
  struct Outcome: Sendable {
    /// The bytes, or why there are none.
    var result: Result<[UInt8], DownloadFailure>
    /// How many attempts it took, if it was no failure.
    var attempts = 0
    /// Whether more than the end of a connection says that the bytes are all.
    var isMeasured = false

    var bytes: [UInt8]? { try? result.get() }
    var failure: DownloadFailure? {
      if case .failure(let failure) = result { failure } else { nil }
    }
  }

  let testDescription: String

  /// Whether bodies go to files, and what came of one may be gone on with.
  let writesFiles: Bool

  /// Whether the first failure ends the batch, and is thrown.
  let isFailFast: Bool

  /// Downloads a list, and returns one outcome for each request, in source order.
  let download:
    @Sendable (_ requests: [DownloadRequest], _ limit: Int, _ setting: FaceSetting) async throws ->
      [Outcome]
}

extension Face {
  static let all = [
    files, bodies, fileOutcomes(.source), fileOutcomes(.completion), bodyOutcomes, dispatchFiles,
    dispatchBodies,
  ]

  /// Files, all or none.
  private static let files = Face(
    testDescription: "downloadAll to files", writesFiles: true, isFailFast: true
  ) { requests, limit, setting in
    try await setting.downloader.downloadAll(requests, to: setting.folder(), limit: limit).map {
      setting.outcome($0)
    }
  }

  /// Bodies in memory, all or none.
  private static let bodies = Face(
    testDescription: "downloadAll into memory", writesFiles: false, isFailFast: true
  ) { requests, limit, setting in
    try await setting.downloader.downloadAll(requests, limit: limit, atMost: setting.bound).map {
      Outcome($0)
    }
  }

  /// Outcomes of files, one by one.
  private static func fileOutcomes(_ order: OutcomeOrder) -> Face {
    Face(
      testDescription: "outcomes of files in \(order) order", writesFiles: true, isFailFast: false
    ) { requests, limit, setting in
      let stream = setting.downloader.outcomes(
        of: requests, to: try setting.folder(), limit: limit, order: order)
      var places: [(offset: Int, outcome: Outcome)] = []
      for try await outcome in stream {
        #expect(outcome.request == requests[outcome.offset])
        places.append((outcome.offset, setting.outcome(outcome.result)))
      }
      if order == .source { #expect(places.map(\.offset) == Array(requests.indices)) }
      return inSourceOrder(places, requests.count)
    }
  }

  /// Outcomes of bodies in memory, one by one.
  private static let bodyOutcomes = Face(
    testDescription: "outcomes in memory", writesFiles: false, isFailFast: false
  ) { requests, limit, setting in
    let stream = setting.downloader.outcomes(of: requests, limit: limit, atMost: setting.bound)
    var places: [(offset: Int, outcome: Outcome)] = []
    for try await outcome in stream {
      #expect(outcome.request == requests[outcome.offset])
      places.append((outcome.offset, Outcome(outcome.result.map { Outcome($0) })))
    }
    return inSourceOrder(places, requests.count)
  }

  /// Files, with one call at the end on a queue.
  private static let dispatchFiles = Face(
    testDescription: "downloadAll to files on a queue", writesFiles: true, isFailFast: false
  ) { requests, limit, setting in
    let folder = try setting.folder()
    return try await called(for: requests) { control, queue, completion in
      setting.downloader.downloadAll(
        requests, to: folder, limit: limit, control: control, queue: queue, completion: completion)
    }.map { setting.outcome($0.result) }
  }

  /// Bodies in memory, with one call at the end on a queue.
  private static let dispatchBodies = Face(
    testDescription: "downloadAll into memory on a queue", writesFiles: false, isFailFast: false
  ) { requests, limit, setting in
    try await called(for: requests) { control, queue, completion in
      setting.downloader.downloadAll(
        requests, limit: limit, atMost: setting.bound, control: control, queue: queue,
        completion: completion)
    }.map { Outcome($0.result.map { Outcome($0) }) }
  }

  /// What a batch of Dispatch code calls back with, which the task that waits for it can cancel.
  private static func called<Value: Sendable>(
    for requests: [DownloadRequest],
    _ start:
      @Sendable (
        DownloadControl, DispatchQueue, @escaping @Sendable (BatchReport<Value>) -> Void
      ) -> Void
  ) async throws -> [DownloadOutcome<Value>] {
    let (control, queue) = (DownloadControl(), DispatchQueue(label: "conformance"))
    let report = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        start(control, queue) { report in
          dispatchPrecondition(condition: .onQueue(queue))
          // A second call would trap here.
          continuation.resume(returning: report)
        }
      }
    } onCancel: {
      control.cancel()
    }
    #expect(report.outcomes.map(\.offset) == Array(requests.indices))
    #expect(report.outcomes.map(\.request) == requests)
    if let error = report.error { throw error }
    return report.outcomes
  }

  /// Checks that there is one outcome for every place, and puts them into their order.
  private static func inSourceOrder(
    _ places: [(offset: Int, outcome: Outcome)], _ count: Int
  ) -> [Outcome] {
    let sorted = places.sorted { $0.offset < $1.offset }
    #expect(sorted.map(\.offset) == Array(0..<count))
    return sorted.map(\.outcome)
  }
}

extension Face.Outcome {
  init(_ result: Result<Face.Outcome, DownloadFailure>) {
    switch result {
    case .success(let outcome): self = outcome
    case .failure(let failure): self.init(result: .failure(failure))
    }
  }

  init(_ body: DownloadedBody) {
    result = .success(Array(body.data))
    attempts = body.attempts
    isMeasured = body.proof != .unverified
  }
}
