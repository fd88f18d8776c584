// SPDX-License-Identifier: Apache-2.0

#if canImport(SwiftUI)
  internal import Foundation
  public import SwiftUI

  /// A batch with all that belongs to it: a button, its progress, its limit, and a grid that fills as
  /// pictures arrive.
  ///
  ///     @State private var batch = DownloadBatch(urls, to: folder, limit: 3, transport: transport)
  ///     var body: some View { DownloadBatchView(batch) }
  ///
  /// It shows what the batch is and keeps nothing of its own, so several views of one batch agree. Who holds
  /// the batch decides how long it lives: when nobody does any more, it is cancelled.
  public struct DownloadBatchView: View {
    private let batch: DownloadBatch

    /// Shows a batch, and starts nothing.
    public init(_ batch: DownloadBatch) { self.batch = batch }

    /// The controls, the progress and the grid.
    public var body: some View {
      VStack(alignment: .leading, spacing: 12) {
        BatchControls(batch: batch)
        BatchLimit(batch: batch)
        BatchSummary(batch: batch)
        BatchGrid(batch: batch)
      }
      .padding()
    }
  }
#endif
