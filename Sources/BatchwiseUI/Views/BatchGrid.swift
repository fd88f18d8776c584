// SPDX-License-Identifier: Apache-2.0

#if canImport(SwiftUI)
  internal import Foundation
  internal import SwiftUI

  /// All rows of a batch, of which only those are made that can be seen.
  struct BatchGrid: View {
    let batch: DownloadBatch

    private static let columns = [GridItem(.adaptive(minimum: 120), spacing: 8)]

    var body: some View {
      ScrollView {
        LazyVGrid(columns: Self.columns, spacing: 8) {
          ForEach(batch.rows) { row in
            BatchCell(row: row, batch: batch)
          }
        }
      }
    }
  }

  /// One row: its picture or what stands for it, its name, and why it failed.
  struct BatchCell: View {
    let row: DownloadBatch.Row
    let batch: DownloadBatch

    var body: some View {
      VStack(spacing: 4) {
        RowPicture(row: row)
          .frame(width: 120, height: 80)
          .clipped()
          .accessibilityLabel(Text(row.name))
          .accessibilityValue(Text(row.words))
        Text(row.name)
          .font(.caption)
          .lineLimit(1)
          .accessibilityHidden(true)
        if let message = row.failureMessage {
          Text(message)
            .font(.caption2)
            .foregroundStyle(.red)
            .lineLimit(3)
        }
        if row.canBeRetried {
          Button("Retry") { batch.retry(row) }
            .accessibilityLabel(Text("Retry \(row.name)"))
        }
      }
      .onAppear { batch.loadThumbnail(of: row) }
      .onChange(of: row.file) { batch.loadThumbnail(of: row) }
      .accessibilityElement(children: .contain)
    }
  }
#endif
