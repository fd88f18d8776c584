// SPDX-License-Identifier: Apache-2.0

public import Observation

/// What a view keeps.
@propertyWrapper
public struct State<Value> {
  /// Begins with a value.
  public init(wrappedValue value: Value) { kept = value }
  /// Begins with a value.
  public init(initialValue value: Value) { kept = value }
  /// The value.
  public var wrappedValue: Value {
    get { kept }
    nonmutating set {}
  }
  /// The value to be changed elsewhere.
  public var projectedValue: Binding<Value> { fatalError("It is compiled and not run") }
  private var kept: Value
}

extension State: Sendable where Value: Sendable {}

/// What is changed elsewhere.
@propertyWrapper
@dynamicMemberLookup
public struct Binding<Value> {
  /// Reads and writes by closures.
  @preconcurrency
  public init(
    get: @escaping @isolated(any) @Sendable () -> Value,
    set: @escaping @isolated(any) @Sendable (Value) -> Void
  ) { fatalError("It is compiled and not run") }
  /// The value.
  public var wrappedValue: Value {
    get { fatalError("It is compiled and not run") }
    nonmutating set {}
  }
  /// Itself.
  public var projectedValue: Binding<Value> { self }
  /// A part of it.
  public subscript<Subject>(
    dynamicMember keyPath: WritableKeyPath<Value, Subject>
  ) -> Binding<Subject> { fatalError("It is compiled and not run") }
}

/// An observable object whose properties can be changed elsewhere.
@propertyWrapper
@dynamicMemberLookup
public struct Bindable<Value> {
  /// The object.
  public var wrappedValue: Value
  /// Itself.
  public var projectedValue: Bindable<Value> { self }

  /// Wraps what cannot be observed, which must not be.
  @available(
    *, unavailable, message: "The wrapped value must be an object that conforms to Observable"
  )
  public init(wrappedValue: Value) { fatalError("It is compiled and not run") }

  fileprivate init(of value: Value) { self.wrappedValue = value }
}

extension Bindable where Value: AnyObject {
  /// A part of it.
  public subscript<Subject>(
    dynamicMember keyPath: ReferenceWritableKeyPath<Value, Subject>
  ) -> Binding<Subject> { fatalError("It is compiled and not run") }
}

extension Bindable where Value: AnyObject, Value: Observable {
  /// Wraps an object.
  public init(wrappedValue: Value) { self.init(of: wrappedValue) }
  /// Wraps an object.
  public init(_ wrappedValue: Value) { self.init(of: wrappedValue) }
}

extension Bindable: Sendable where Value: Sendable {}
