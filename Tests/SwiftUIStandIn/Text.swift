// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// A text to be translated.
public struct LocalizedStringKey: Equatable, ExpressibleByStringInterpolation {
  /// A key.
  public init(_ value: String) {}
  /// A key.
  public init(stringLiteral value: String) {}
}

/// Text.
public struct Text: Primitive, Equatable, Sendable {
  /// Text to be translated.
  nonisolated public init(
    _ key: LocalizedStringKey, tableName: String? = nil, bundle: Bundle? = nil,
    comment: StaticString? = nil
  ) {}
  /// Text as it is.
  @_disfavoredOverload
  nonisolated public init<S: StringProtocol>(_ content: S) {}
  /// A value as text.
  nonisolated public init<F: FormatStyle>(_ input: F.FormatInput, format: F)
  where F.FormatInput: Equatable, F.FormatOutput == String {}
}

/// A text with a symbol.
public struct Label<Title: View, Icon: View>: Primitive {
  /// A label of two views.
  nonisolated public init(
    @ViewBuilder title: () -> Title, @ViewBuilder icon: () -> Icon
  ) {}
}

extension Label where Title == Text, Icon == Image {
  /// A label with text to be translated.
  nonisolated public init(_ titleKey: LocalizedStringKey, systemImage name: String) {}
  /// A label with text as it is.
  @_disfavoredOverload
  nonisolated public init<S: StringProtocol>(_ title: S, systemImage name: String) {}
}

/// A typeface.
public struct Font: Hashable, Sendable {
  /// Small.
  public static let caption = Font()
  /// Smaller.
  public static let caption2 = Font()
}
