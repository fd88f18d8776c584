// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Edges.
public struct Edge: Sendable {
  /// Some edges.
  public struct Set: OptionSet, Sendable {
    /// Which ones.
    public let rawValue: Int8
    /// Some edges.
    public init(rawValue: Int8) { self.rawValue = rawValue }
    /// All four.
    public static let all = Set(rawValue: 15)
  }
}

/// What shapes are filled with.
public protocol ShapeStyle: Sendable {}

/// A colour.
public struct Color: ShapeStyle, Hashable, Sendable {
  /// Red.
  public static let red = Color()
}

extension ShapeStyle where Self == Color {
  /// Red.
  public static var red: Color { .red }
}

/// How those who listen to an interface find what is inside a view.
public struct AccessibilityChildBehavior: Hashable, Sendable {
  /// Each by itself.
  public static let contain = AccessibilityChildBehavior()
  /// All as one.
  public static let combine = AccessibilityChildBehavior()
  /// Not at all.
  public static let ignore = AccessibilityChildBehavior()
}

extension View {
  /// With room around it.
  nonisolated public func padding(
    _ edges: Edge.Set = .all, _ length: CGFloat? = nil
  ) -> some View { Modified<Self>() }
  /// In this typeface.
  nonisolated public func font(_ font: Font?) -> some View { Modified<Self>() }
  /// In this colour.
  nonisolated public func foregroundStyle<S: ShapeStyle>(_ style: S) -> some View {
    Modified<Self>()
  }
  /// In so many lines at most.
  nonisolated public func lineLimit(_ number: Int?) -> some View { Modified<Self>() }
  /// Of this size.
  nonisolated public func frame(
    width: CGFloat? = nil, height: CGFloat? = nil, alignment: Alignment = .center
  ) -> some View { Modified<Self>() }
  /// Cut at its edges.
  nonisolated public func clipped(antialiased: Bool = false) -> some View { Modified<Self>() }
  /// So large that its room is filled.
  nonisolated public func scaledToFill() -> some View { Modified<Self>() }
  /// Perhaps out of use.
  nonisolated public func disabled(_ disabled: Bool) -> some View { Modified<Self>() }
  /// With buttons of that look.
  nonisolated public func buttonStyle<S: PrimitiveButtonStyle>(_ style: S) -> some View {
    Modified<Self>()
  }
  /// Does something when it appears.
  nonisolated public func onAppear(perform action: (() -> Void)? = nil) -> some View {
    Modified<Self>()
  }
  /// Does something when a value has changed.
  nonisolated public func onChange<V: Equatable>(
    of value: V, initial: Bool = false, _ action: @escaping () -> Void
  ) -> some View { Modified<Self>() }
  /// What it is called by those who cannot see it.
  nonisolated public func accessibilityLabel(_ label: Text) -> some View { Modified<Self>() }
  /// What it says to those who cannot see it.
  nonisolated public func accessibilityValue(_ valueDescription: Text) -> some View {
    Modified<Self>()
  }
  /// What it does, for those who cannot see it.
  nonisolated public func accessibilityHint(_ hint: Text) -> some View { Modified<Self>() }
  /// Perhaps nothing for those who cannot see it.
  nonisolated public func accessibilityHidden(_ hidden: Bool) -> some View { Modified<Self>() }
  /// How what is inside is found by those who cannot see it.
  nonisolated public func accessibilityElement(
    children: AccessibilityChildBehavior = .ignore
  ) -> some View { Modified<Self>() }
}
