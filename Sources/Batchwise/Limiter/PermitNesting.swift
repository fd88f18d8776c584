// SPDX-License-Identifier: Apache-2.0

/// What a limiter does when it is asked for a permit from inside one of its own.
///
/// To wait would be to wait for oneself: the permit asked for may be the one that is held. So a
/// limiter never does. It sees nesting in the body of `withPermit` and in everything started from
/// there: child tasks, and as long as the permit is held also tasks of their own and items of a queue.
public struct PermitNesting: Sendable, Hashable {
  private enum Kind {
    case shares, fails
  }

  private let kind: Kind

  /// Those inside share the permit that is held.
  ///
  /// They take turns on it, as many at once as it has weight, in the order that a limiter has. It
  /// is given back when its holder and all of them are over. A request for another key still
  /// throws.
  public static let shares = PermitNesting(kind: .shares)

  /// The request throws a ``NestedPermitError``; one that only tries gets no permit.
  public static let fails = PermitNesting(kind: .fails)
}

/// A permit was asked for by someone who holds one of the same limiter already.
public struct NestedPermitError: Error, Hashable, CustomStringConvertible {
  /// Says what happened, and what to do instead.
  public var description: String {
    """
    A permit was asked for while holding one of the same limiter, which could wait for ever. \
    Ask for it once, outside, or create the limiter with nesting: .shares and ask for the same key.
    """
  }
}
