// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Where views lie beside each other.
public struct HorizontalAlignment: Equatable, Sendable {
  /// At the side where lines begin.
  public static let leading = HorizontalAlignment()
  /// In the middle.
  public static let center = HorizontalAlignment()
}

/// Where views lie one above the other.
public struct VerticalAlignment: Equatable, Sendable {
  /// In the middle.
  public static let center = VerticalAlignment()
}

/// Where a view lies in its room.
public struct Alignment: Equatable, Sendable {
  /// In the middle.
  public static let center = Alignment()
}

/// Views from left to right.
public struct HStack<Content: View>: Primitive {
  /// Views from left to right.
  public init(
    alignment: VerticalAlignment = .center, spacing: CGFloat? = nil,
    @ViewBuilder content: () -> Content
  ) {}
}

/// Views from top to bottom.
public struct VStack<Content: View>: Primitive {
  /// Views from top to bottom.
  public init(
    alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil,
    @ViewBuilder content: () -> Content
  ) {}
}

/// Directions.
public struct Axis: Sendable {
  /// Some directions.
  public struct Set: OptionSet, Sendable {
    /// Which ones.
    public let rawValue: Int8
    /// Some directions.
    public init(rawValue: Int8) { self.rawValue = rawValue }
    /// Up and down.
    public static let vertical = Set(rawValue: 2)
  }
}

/// What can be scrolled.
public struct ScrollView<Content: View>: Primitive {
  /// What can be scrolled.
  public init(
    _ axes: Axis.Set = .vertical, showsIndicators: Bool = true,
    @ViewBuilder content: () -> Content
  ) {}
}

/// A column or a row of a grid.
public struct GridItem: Sendable {
  /// How large it is.
  public enum Size: Sendable {
    /// So large.
    case fixed(CGFloat)
    /// As large as there is room for.
    case flexible(minimum: CGFloat = 10, maximum: CGFloat = .infinity)
    /// As many as there is room for.
    case adaptive(minimum: CGFloat, maximum: CGFloat = .infinity)
  }
  /// A column or a row.
  public init(
    _ size: Size = .flexible(), spacing: CGFloat? = nil, alignment: Alignment? = nil
  ) {}
}

/// Views that stay at an edge.
public struct PinnedScrollableViews: OptionSet, Sendable {
  /// Which ones.
  public let rawValue: UInt32
  /// Some views.
  public init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// A grid that makes what can be seen.
public struct LazyVGrid<Content: View>: Primitive {
  /// A grid of columns.
  public init(
    columns: [GridItem], alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil,
    pinnedViews: PinnedScrollableViews = .init(), @ViewBuilder content: () -> Content
  ) {}
}

/// A view for each element.
public struct ForEach<Data: RandomAccessCollection, ID: Hashable, Content> {}

extension ForEach: View where Content: View {
  /// There is none.
  public var body: Never { fatalError("It is drawn by itself") }
}

extension ForEach where ID == Data.Element.ID, Content: View, Data.Element: Identifiable {
  /// A view for each element.
  public init(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content) {}
}
