// SPDX-License-Identifier: Apache-2.0

#if canImport(SwiftUI)
  internal import Foundation
  internal import SwiftUI

  /// How far a batch has come, and why it could not go on if that is so.
  struct BatchSummary: View {
    let batch: DownloadBatch

    var body: some View {
      VStack(alignment: .leading, spacing: 4) {
        ProgressView(value: batch.status.fraction)
          .accessibilityLabel(Text("Progress of the batch"))
          .accessibilityValue(Text(batch.status.words))
        HStack(spacing: 8) {
          Text(batch.status.words)
          Text(batch.status.received, format: .byteCount(style: .file))
            .accessibilityLabel(Text("Received"))
            .accessibilityValue(Text(batch.status.received, format: .byteCount(style: .file)))
        }
        .font(.caption)
        if case .failed(let sentence) = batch.phase {
          Label(sentence, systemImage: "exclamationmark.triangle")
            .foregroundStyle(.red)
            .accessibilityLabel(Text("The batch ended early. \(sentence)"))
        }
      }
    }
  }
#endif
