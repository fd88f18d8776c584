// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

/// The lookups of one loop: which host an address stands for, and whose turn it is.
struct Lookups {
  /// What the loop's transfers wait for; they are named by their handlers.
  var state = LookupState<ObjectIdentifier>(limit: Lookups.limit, memory: Lookups.memory)

  private let proxies: ProxySettings

  // What the last address began with, and until when no lookup is needed for what begins so: lists
  // mostly name one host many times in a row.
  private var lastPrefix: [UInt8] = []
  private var lastExpiry: Duration?

  /// The most lookups at once.
  ///
  /// Each has a thread of libcurl's, and resolvers drop questions when there are too many.
  static let limit = 16

  /// For how long libcurl keeps an address, in seconds.
  ///
  /// It looks through all it keeps whenever a transfer ends, so not for long.
  static let cacheSeconds = 10

  /// libcurl counts whole seconds; so much less is safe.
  static let memory = Duration.seconds(cacheSeconds - 2)

  init(proxies: ProxySettings) {
    self.proxies = proxies
  }

  /// Says what a transfer does that is to begin now, and for which host it looks up or waits.
  mutating func turn(
    of waiter: ObjectIdentifier, to url: String, _ scheme: Address.Scheme,
    at now: Duration
  ) -> (LookupState<ObjectIdentifier>.Turn, host: String) {
    if let lastExpiry, now < lastExpiry, LookupName.isPrefix(lastPrefix, of: url) {
      return (.go, "")
    }
    let host = name(for: url, scheme)
    if let host, state.expiry(of: host, at: now) == nil {
      return (state.turn(of: waiter, to: host, at: now), host)
    }
    lastPrefix = LookupName.prefix(of: url)
    lastExpiry = host.flatMap { state.expiry(of: $0, at: now) } ?? now + .seconds(86_400)
    return (.go, "")
  }

  /// A proxy that serves all hosts is looked up in their place.
  private func name(for url: String, _ scheme: Address.Scheme) -> String? {
    LookupName.of(proxies.only(for: scheme) ?? url)
  }
}
