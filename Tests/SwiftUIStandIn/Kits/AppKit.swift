// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// A picture.
open class NSImage: NSObject, @unchecked Sendable {
  // It holds nothing, so there is nothing that two threads could touch at once.

  /// A picture of these bytes.
  public init?(data: Data) {}
}
