// SPDX-License-Identifier: Apache-2.0

// Fetches 50 user profiles as JSON: in order, and at most 3 at a time.
//
//     scripts/example profiles

import Batchwise
import BatchwiseDownload
import CurlTransport
import ExampleOrigin

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

struct Profile: Decodable, Sendable {
  var id: Int
  var name: String
  var city: String
}

let origin = try ExampleOrigin()
let downloader = BatchDownloader(transport: try CurlTransport())

// Three workers take the next number as soon as they are free. The first failure, of a request or of the
// decoder, cancels the others and is thrown; the array is never short.
let profiles = try await (1...50).concurrentMap(limit: 3) { id in
  let body = try await downloader.data(from: origin.url("/profiles/\(id)"))
  return try JSONDecoder().decode(Profile.self, from: body.data)
}

for profile in profiles { print(profile.id, profile.name, "in", profile.city) }
origin.conclude(peakInFlight: 3, profiles.map(\.id) == Array(1...50))
