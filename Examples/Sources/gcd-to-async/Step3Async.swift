// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseDownload

/// Step 3: one line is left, and it is the work.
///
/// The order is that of the list, the first failure is thrown and cancels the others, and so does
/// cancelling the task. When it returns, nothing of it is still at work.
func fetch(_ urls: [String], by downloader: BatchDownloader) async throws -> [String] {
  try await urls.concurrentMap(limit: 3) { url in text(of: try await downloader.data(from: url)) }
}
