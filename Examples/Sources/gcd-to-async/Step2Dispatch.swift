// SPDX-License-Identifier: Apache-2.0

import BatchwiseDispatch
import BatchwiseDownload
import Dispatch

/// Step 2: still Dispatch code with callbacks, and what waits is a closure in a list.
///
/// `done` is called once on every path, or the queue says which one forgot.
func fetchWithBoundedQueue(
  _ urls: [String], by client: Client, whenDone: @escaping @Sendable ([String]) -> Void
) {
  let queue = BoundedDispatchQueue(label: "profiles", limit: 3)
  let results = Results(count: urls.count)
  for (index, url) in urls.enumerated() {
    queue.async { done in
      client.load(url) { result in
        results.set(index, result)
        done()
      }
    }
  }
  queue.notify(queue: .main) { whenDone(results.all) }
}

/// Step 2 for a list of URLs: the downloader has the bookkeeping, the order, retries and cancelling.
@discardableResult
func fetchWithDownloader(
  _ urls: [String], by downloader: BatchDownloader,
  whenDone: @escaping @Sendable ([String]) -> Void
) -> DownloadControl {
  downloader.downloadAll(urls, limit: 3, atMost: 1 << 20, queue: .main) { report in
    whenDone(report.outcomes.map { (try? text(of: $0.get())) ?? "?" })
  }
}
