// SPDX-License-Identifier: Apache-2.0

#if canImport(SwiftUI)
  internal import BatchwiseDownload
  internal import Foundation
  internal import SwiftUI

  #if canImport(UIKit)
    internal import UIKit
  #elseif canImport(AppKit)
    internal import AppKit
  #endif

  /// A row's picture, or how far it has come, or a symbol.
  struct RowPicture: View {
    let row: DownloadBatch.Row

    var body: some View {
      if let data = row.thumbnail {
        Drawn(data: data)
      } else if row.kind == .inFlight {
        ProgressView(value: row.transfer?.fraction)
      } else {
        Image(systemName: row.symbol)
      }
    }

    /// A picture that is decoded anew only when its bytes are others.
    private struct Drawn: View {
      let data: Data

      var body: some View {
        if let image = Image(picture: data) {
          image.resizable().scaledToFill()
        } else {
          Image(systemName: "photo")
        }
      }
    }
  }

  extension Image {
    /// A picture of these bytes; nil if the system cannot draw them.
    fileprivate init?(picture data: Data) {
      #if canImport(UIKit)
        guard let picture = UIImage(data: data) else { return nil }
        self.init(uiImage: picture)
      #elseif canImport(AppKit)
        guard let picture = NSImage(data: data) else { return nil }
        self.init(nsImage: picture)
      #else
        return nil
      #endif
    }
  }
#endif
