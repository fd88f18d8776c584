// SPDX-License-Identifier: Apache-2.0

// The same work in three steps: from a semaphore on Dispatch queues to `async`, at most 3 at a time.
//
//     scripts/example gcd-to-async

import BatchwiseDownload
import CurlTransport
import ExampleOrigin

let downloader = BatchDownloader(transport: try CurlTransport())
let client = Client(downloader: downloader)

/// Lets a step fetch from an origin of its own, and says what came of it.
func run(_ step: String, _ fetch: ([String]) async throws -> [String]) async throws {
  let origin = try ExampleOrigin()
  let start = ContinuousClock.now
  let profiles = try await fetch((1...8).map { origin.url("/profiles/\($0)") })
  let milliseconds = Int((ContinuousClock.now - start) / .milliseconds(1))
  print("\(step), \(milliseconds) ms: \(profiles.count) profiles, the last is \(profiles[7])")
  let isInOrder = profiles.indices.allSatisfy { profiles[$0].contains("\"id\": \($0 + 1),") }
  origin.conclude(peakInFlight: 3, isInOrder)
}

try await run("1  semaphore") { urls in
  await withCheckedContinuation { continuation in
    fetchWithSemaphore(urls, by: client) { continuation.resume(returning: $0) }
  }
}
try await run("2a bounded queue") { urls in
  await withCheckedContinuation { continuation in
    fetchWithBoundedQueue(urls, by: client) { continuation.resume(returning: $0) }
  }
}
try await run("2b downloader on a queue") { urls in
  await withCheckedContinuation { continuation in
    fetchWithDownloader(urls, by: downloader) { continuation.resume(returning: $0) }
  }
}
try await run("3  async") { urls in try await fetch(urls, by: downloader) }
