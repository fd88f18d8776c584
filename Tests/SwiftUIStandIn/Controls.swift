// SPDX-License-Identifier: Apache-2.0

/// What a button means.
public struct ButtonRole: Equatable, Sendable {
  /// It takes something back.
  public static let cancel = ButtonRole()
  /// It destroys something.
  public static let destructive = ButtonRole()
}

/// A button.
public struct Button<Label: View>: Primitive {
  /// A button that a view stands for.
  public init(action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Label) {}
  /// A button with a meaning that a view stands for.
  public init(
    role: ButtonRole?, action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Label
  ) {}
}

extension Button where Label == Text {
  /// A button with text to be translated.
  public init(_ titleKey: LocalizedStringKey, action: @escaping @MainActor () -> Void) {}
  /// A button with text as it is.
  @_disfavoredOverload
  public init<S: StringProtocol>(_ title: S, action: @escaping @MainActor () -> Void) {}
  /// A button with a meaning, and with text to be translated.
  public init(
    _ titleKey: LocalizedStringKey, role: ButtonRole?, action: @escaping @MainActor () -> Void
  ) {}
}

/// How buttons look.
@MainActor
@preconcurrency
public protocol PrimitiveButtonStyle {}

/// Filled with colour.
public struct BorderedProminentButtonStyle: PrimitiveButtonStyle {
  /// The style.
  nonisolated public init() {}
}

extension PrimitiveButtonStyle where Self == BorderedProminentButtonStyle {
  /// Filled with colour.
  @MainActor @preconcurrency public static var borderedProminent: BorderedProminentButtonStyle {
    BorderedProminentButtonStyle()
  }
}

/// A value that goes up and down.
public struct Stepper<Label: View>: Primitive {
  /// A stepper between bounds.
  public init<V: Strideable>(
    value: Binding<V>, in bounds: ClosedRange<V>, step: V.Stride = 1,
    @ViewBuilder label: () -> Label, onEditingChanged: @escaping (Bool) -> Void = { _ in }
  ) {}
}

/// How far something has come.
public struct ProgressView<Label: View, CurrentValueLabel: View>: Primitive {}

extension ProgressView where CurrentValueLabel == EmptyView {
  /// Something is under way.
  nonisolated public init() where Label == EmptyView {}
}

extension ProgressView {
  /// A part of a whole; nil for an unknown one.
  nonisolated public init<V: BinaryFloatingPoint>(value: V?, total: V = 1.0)
  where Label == EmptyView, CurrentValueLabel == EmptyView {}
}
