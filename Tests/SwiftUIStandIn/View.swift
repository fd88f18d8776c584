// SPDX-License-Identifier: Apache-2.0

/// A part of an interface.
@MainActor
@preconcurrency
public protocol View {
  /// What it is made of.
  associatedtype Body: View
  /// What it is made of.
  @ViewBuilder @MainActor @preconcurrency var body: Self.Body { get }
}

extension Never: View {
  /// There is none.
  public var body: Never { fatalError("Nobody has one of these") }
}

extension Optional: View where Wrapped: View {
  /// There is none.
  public var body: Never { fatalError("It is drawn by itself") }
}

/// What is drawn by itself.
@MainActor
@preconcurrency
public protocol Primitive: View where Body == Never {}

extension Primitive {
  /// There is none.
  public var body: Never { fatalError("It is drawn by itself") }
}

/// Makes views of statements.
@resultBuilder
public struct ViewBuilder {
  /// A view as it is.
  public static func buildExpression<Content: View>(_ content: Content) -> Content { content }
  /// Nothing.
  public static func buildBlock() -> EmptyView { EmptyView() }
  /// One view.
  public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
  /// Several views.
  public static func buildBlock<each Content: View>(
    _ content: repeat each Content
  ) -> TupleView<(repeat each Content)> { TupleView((repeat each content)) }
  /// A view that may be there.
  public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
  /// The first of two.
  public static func buildEither<First: View, Second: View>(
    first: First
  ) -> _ConditionalContent<First, Second> { _ConditionalContent() }
  /// The second of two.
  public static func buildEither<First: View, Second: View>(
    second: Second
  ) -> _ConditionalContent<First, Second> { _ConditionalContent() }
}

/// Nothing.
public struct EmptyView: Primitive {
  /// Nothing.
  nonisolated public init() {}
}

/// Several views.
public struct TupleView<Views>: Primitive {
  /// Several views.
  nonisolated public init(_ value: Views) {}
}

/// One of two views.
public struct _ConditionalContent<First, Second>: Primitive {
  nonisolated init() {}
}

/// A view that was changed.
public struct Modified<Content: View>: Primitive {
  nonisolated init() {}
}
