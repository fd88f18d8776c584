// SPDX-License-Identifier: Apache-2.0

#if canImport(SwiftUI)
  public import BatchwiseDownload
  public import SwiftUI

  /// Twenty sample pictures, at most three in flight, to be seen at once.
  ///
  ///     SampleBatchView(folder: folder, transport: URLSessionTransport())
  ///
  /// Nothing is asked for before somebody presses the button.
  public struct SampleBatchView: View {
    @State private var batch: DownloadBatch

    /// Shows ``SamplePictures``.
    ///
    /// - Parameters:
    ///   - folder: Where the pictures go.
    ///   - transport: What carries the bytes.
    public init(folder: OutputFolder, transport: any Transport) {
      _batch = State(
        initialValue: DownloadBatch(
          SamplePictures.requests, to: folder, limit: 3, transport: transport))
    }

    /// The batch with all that belongs to it.
    public var body: some View { DownloadBatchView(batch) }
  }
#endif
