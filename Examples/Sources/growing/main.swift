// SPDX-License-Identifier: Apache-2.0

// Visits a page, and all pages that it leads to: a list that grows while it is worked on.
//
//     scripts/example growing

import Batchwise
import BatchwiseDownload
import CurlTransport
import ExampleOrigin
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

struct Page: Decodable, Sendable {
  var title: String
  var links: [Int]
}

let origin = try ExampleOrigin()
let downloader = BatchDownloader(transport: try CurlTransport())

/// The pages that were found, so that each is visited once though many lead to it.
final class Found: Sendable {
  let pages = Mutex<Set<Int>>([])
}

// The call returns when nothing waits and nothing is in flight: nobody has to count what is left.
let found = Found()
let counts = try await withTaskQueue(of: Void.self, limit: 3) { queue in
  @Sendable func visit(_ number: Int) {
    guard found.pages.withLock({ $0.insert(number).inserted }) else { return }
    queue.add(name: "page \(number)") {
      let body = try await downloader.data(from: origin.url("/pages/\(number)"))
      let page = try JSONDecoder().decode(Page.self, from: body.data)
      print("\(page.title) leads to \(page.links), \(queue.status.waiting) wait")
      page.links.forEach(visit)
    }
  }
  visit(1)
  try await queue.drain()
  return queue.status.counts
}

print("\(counts.succeeded) pages, \(counts.failed) failures")
origin.conclude(peakInFlight: 3, counts.succeeded == 40 && origin.requests == 40)
