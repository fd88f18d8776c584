// SPDX-License-Identifier: Apache-2.0

#if canImport(SwiftUI)
  internal import Foundation
  internal import SwiftUI

  /// The large button, and those that are there while they mean something.
  struct BatchControls: View {
    let batch: DownloadBatch

    var body: some View {
      let action = BatchAction(batch.phase)
      HStack(spacing: 12) {
        Button(action.title) { action.perform(on: batch) }
          .buttonStyle(.borderedProminent)
          .disabled(action == .nothing)
          .accessibilityHint(Text(action.hint))
        if batch.phase == .running || batch.phase == .paused {
          Button("Cancel", role: .cancel) { batch.cancel() }
            .accessibilityHint(Text("Leaves what has not been downloaded"))
        }
        if batch.status.failed > 0 {
          Button("Retry Failed") { batch.retryFailed() }
            .accessibilityHint(Text("Asks again for the \(batch.status.failed) that have failed"))
        }
      }
    }
  }

  /// The most in flight at once, which may be changed at any time.
  struct BatchLimit: View {
    @Bindable var batch: DownloadBatch

    private static let range = 1...32

    var body: some View {
      #if os(tvOS)
        HStack(spacing: 12) {
          Button("Fewer") { batch.limit = max(Self.range.lowerBound, batch.limit - 1) }
          Text("At most \(batch.limit) in flight")
          Button("More") { batch.limit = min(Self.range.upperBound, batch.limit + 1) }
        }
      #else
        Stepper(value: $batch.limit, in: Self.range) {
          Text("At most \(batch.limit) in flight")
        }
        .accessibilityLabel(Text("Limit of downloads in flight"))
        .accessibilityValue(Text("\(batch.limit)"))
      #endif
    }
  }
#endif
