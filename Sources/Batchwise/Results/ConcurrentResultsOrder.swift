// SPDX-License-Identifier: Apache-2.0

/// The order in which outcomes are read.
public struct ConcurrentResultsOrder: Sendable, Hashable {
  enum Kind {
    case source
    case completion
  }

  let kind: Kind

  /// The order of the input: a slow element holds back the outcomes behind it.
  public static let source = ConcurrentResultsOrder(kind: .source)

  /// The order of finishing: every outcome can be read as soon as it is there.
  public static let completion = ConcurrentResultsOrder(kind: .completion)
}
