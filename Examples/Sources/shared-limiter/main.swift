// SPDX-License-Identifier: Apache-2.0

// A server whose requests all need the same backend, which bears 4 calls at once. One customer asks for
// a lot, and takes no more than 2 of them: the others do not wait behind it.
//
//     scripts/example shared-limiter

import Batchwise
import BatchwiseDownload
import CurlTransport
import ExampleOrigin

struct Request: Sendable {
  var customer: String
  var profile: Int
}

/// One server, with one limiter for all that it handles.
struct Server: Sendable {
  let backend = KeyedLimiter<String>(limit: 4, limitPerKey: 2)
  let origin: ExampleOrigin
  let downloader: BatchDownloader

  /// Called for every request, from whatever task it arrives in.
  func handle(_ request: Request) async throws -> String {
    // Who waits here holds no thread; who is cancelled while it waits has taken nothing.
    let profile = try await backend.withPermit(for: request.customer) {
      try await downloader.data(from: origin.url("/profiles/\(request.profile)"))
    }
    return "\(request.customer): \(String(decoding: profile.data, as: UTF8.self))"
  }
}

let origin = try ExampleOrigin()
let server = Server(origin: origin, downloader: BatchDownloader(transport: try CurlTransport()))

let requests =
  (1...40).map { Request(customer: "greedy", profile: $0) }
  + (41...50).map { Request(customer: "modest", profile: $0) }
  + (51...60).map { Request(customer: "patient", profile: $0) }

// All of them arrive at once, as they do on a bad day.
let answers = try await withThrowingTaskGroup { group in
  for request in requests { group.addTask { try await server.handle(request) } }
  var answers: [String] = []
  for try await answer in group {
    print(answer)
    answers.append(answer)
  }
  return answers
}

let lastModest = answers.lastIndex { $0.hasPrefix("modest") } ?? answers.count
print("The modest customer had its last answer after \(lastModest + 1) of \(answers.count).")
origin.conclude(peakInFlight: 4, answers.count == 60 && lastModest < 40)
