// SPDX-License-Identifier: Apache-2.0

import Testing

/// A rule that some transport cannot keep, and why.
///
/// This is the whole list: what is not in it, every transport keeps. A limit that no longer holds fails
/// the suite, so that it is taken out.
struct KnownLimit: Sendable {
  let rule: Rule
  let carrier: Carrier
  let reason: String
  /// Whether the process ends where the rule is broken, so that it is tried in another one.
  var endsProcess = false

  /// The rules that are not kept everywhere.
  enum Rule: Sendable {
    case trailers
    case dotsInPaths
    case strangeCharacters
    case redirectBeforeItsBody
    case connectTimeout
    case ownCertificates
    case bodyOfRedirect
    case slowHandlerSlowsServer
    case unusualHeads
    case cutInHead
    case addressesInBrackets
  }

  /// What no `URLSession` can do.
  private static let everywhere: [KnownLimit] = [
    KnownLimit(
      rule: .strangeCharacters, carrier: .urlSession,
      reason: "URL holds nothing that its grammar does not allow, so it is percent-encoded"),
    KnownLimit(
      rule: .connectTimeout, carrier: .urlSession,
      reason: "URLSession does not tell when it is connected, so only silence is noticed"),
    KnownLimit(
      rule: .ownCertificates, carrier: .urlSession,
      reason: "It trusts what the system trusts, so an encrypted origin of a test is none to it"),
  ]

  /// What Foundation cannot do on Linux, as of Swift 6.3.1.
  private static let onLinux: [KnownLimit] = [
    KnownLimit(
      rule: .trailers, carrier: .urlSession,
      reason: "A field behind the last chunk is taken for a new head; then there is no answer",
      endsProcess: true),
    KnownLimit(
      rule: .cutInHead, carrier: .urlSession,
      reason: "A head that breaks off before it tells a length is taken for an answer",
      endsProcess: true),
    KnownLimit(
      rule: .unusualHeads, carrier: .urlSession,
      reason: "Its reader knows one way to write a field, and gives up the whole answer"),
    KnownLimit(
      rule: .addressesInBrackets, carrier: .urlSession,
      reason: "The host is compared with its brackets and without, and no two are the same"),
    KnownLimit(
      rule: .dotsInPaths, carrier: .urlSession,
      reason: "libcurl resolves them, and its option against that is not set"),
    KnownLimit(
      rule: .redirectBeforeItsBody, carrier: .urlSession,
      reason: "The delegate hears of a redirect when its body is over"),
    KnownLimit(
      rule: .bodyOfRedirect, carrier: .urlSession,
      reason:
        "The delegate is told its body only when the redirect is answered, which may end the process"
    ),
    KnownLimit(
      rule: .slowHandlerSlowsServer, carrier: .urlSession,
      reason: "What has been read is put into the delegate's queue, which has no bound"),
  ]

  #if os(Linux)
    static let all = everywhere + onLinux
  #else
    static let all = everywhere
  #endif

  static func of(_ carrier: Carrier, on rule: Rule) -> KnownLimit? {
    all.first { $0.carrier == carrier && $0.rule == rule }
  }
}

/// Checks a rule that not every transport keeps; where it is known not to be, something must fail.
func checking(
  _ rule: KnownLimit.Rule, of carrier: Carrier, _ check: () async throws -> Void
) async throws {
  guard let limit = KnownLimit.of(carrier, on: rule) else { return try await check() }
  // That the process does end is shown by a test of its own.
  if limit.endsProcess { return }
  await withKnownIssue("\(limit.reason)") { try await check() }
}
