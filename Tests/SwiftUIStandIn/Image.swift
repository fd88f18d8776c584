// SPDX-License-Identifier: Apache-2.0

#if canImport(UIKit)
  public import UIKit
#elseif canImport(AppKit)
  public import AppKit
#endif

/// A picture.
public struct Image: Primitive, Equatable, Sendable {
  /// One of the system's symbols.
  nonisolated public init(systemName: String) {}

  #if canImport(UIKit)
    /// A picture of UIKit.
    nonisolated public init(uiImage: UIImage) {}
  #elseif canImport(AppKit)
    /// A picture of AppKit.
    nonisolated public init(nsImage: NSImage) {}
  #endif

  /// How it fills its room.
  public enum ResizingMode: Sendable {
    /// By repeating it.
    case tile
    /// By stretching it.
    case stretch
  }

  /// The picture, of any size.
  nonisolated public func resizable(
    capInsets: EdgeInsets = EdgeInsets(), resizingMode: ResizingMode = .stretch
  ) -> Image { self }
}

/// Lengths at the four edges.
public struct EdgeInsets: Equatable, Sendable {
  /// None.
  public init() {}
}
