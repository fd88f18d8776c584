// SPDX-License-Identifier: Apache-2.0

import Testing

/// A rule that some transport cannot keep, and why.
///
/// This is the whole list: what is not in it, every transport keeps. A limit that no longer holds fails
/// the suite, so that it is taken out.
struct KnownLimit: Sendable {
  let rule: Rule
  let carrier: Carrier
  let reason: Comment

  /// The rules that are not kept everywhere.
  enum Rule: Sendable {
    case x
  }

  static let all: [KnownLimit] = [
  ]

  static func of(_ carrier: Carrier, on rule: Rule) -> KnownLimit? {
    all.first { $0.carrier == carrier && $0.rule == rule }
  }
}

/// Checks a rule that not every transport keeps; where it is known not to be, something must fail.
func checking(
  _ rule: KnownLimit.Rule, of carrier: Carrier, _ check: () async throws -> Void
) async throws {
  guard let limit = KnownLimit.of(carrier, on: rule) else { return try await check() }
  await withKnownIssue(limit.reason) { try await check() }
}
