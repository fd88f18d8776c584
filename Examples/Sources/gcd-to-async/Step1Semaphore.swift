// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// Step 1: as it is copied from everywhere.
///
/// It works, until it does not: every URL that waits parks a thread, of the pool that everything else
/// needs too. With few processors the work stalls until Dispatch dares to make further threads: see how
/// long this step takes beside the others. A path that forgets to signal hangs, one that signals
/// twice raises the limit, and nobody is told. Nor has anybody thought of cancelling.
func fetchWithSemaphore(
  _ urls: [String], by client: Client, whenDone: @escaping @Sendable ([String]) -> Void
) {
  let semaphore = DispatchSemaphore(value: 3)
  let group = DispatchGroup()
  let results = Results(count: urls.count)
  for (index, url) in urls.enumerated() {
    group.enter()
    DispatchQueue.global().async {
      semaphore.wait()
      client.load(url) { result in
        results.set(index, result)
        semaphore.signal()
        group.leave()
      }
    }
  }
  group.notify(queue: .main) { whenDone(results.all) }
}
