// SPDX-License-Identifier: Apache-2.0

internal import Batchwise

/// The hosts of the items at hand: how much of each is in flight and waits, and how it is paced.
///
/// A host is forgotten when nothing of it is at hand, unless it has refused something a short while
/// ago, and then too if there are very many of them.
struct HostTable {
  /// One host's share.
  struct Host {
    let key: AdmissionKey
    var pace = HostPace()
    var limit: Int
    /// Of its items, those in flight.
    var inFlight = 0
    /// Those that wait for their turn.
    var waiting = 0
    /// Those that pause before another attempt.
    var delayed = 0
    /// Why nothing is asked of it until then: it wants to be left alone for longer than is waited.
    var refusal: (failure: DownloadFailure, until: Duration)?
    /// Whether so many of them are held that no more should be read.
    fileprivate(set) var isFull = false

    /// Those that nothing but the limit over all keeps from starting.
    fileprivate var ready: Int { max(0, min(waiting, limit - inFlight)) }
    fileprivate var isIdle: Bool { inFlight == 0 && waiting == 0 && delayed == 0 }
  }

  /// The most items of one host that are held before no more is read.
  static let mostHeld = 1024
  /// The most idle hosts that are remembered for having refused something.
  private static let mostRemembered = 4096

  private var hosts: [String: Host] = [:]
  private var full = 0
  /// How many items could start if only the limit over all were higher.
  private(set) var ready = 0

  /// Whether so many items of some host are held that no more should be read.
  var isFull: Bool { full > 0 }

  /// How many hosts are known.
  var count: Int { hosts.count }

  /// Changes a host, which is made if it is not known.
  ///
  /// - Returns: What the change returns, and the host's limit if that is another one now.
  mutating func update<Result>(
    _ origin: String, limit: Int, at now: Duration, _ change: (inout Host) -> Result
  ) -> (result: Result, newLimit: (key: AdmissionKey, limit: Int)?) {
    let isCrowded = hosts.count > Self.mostRemembered
    var (ready, full) = (self.ready, self.full)
    defer { (self.ready, self.full) = (ready, full) }
    func update(_ entry: inout Host?) -> (Result, (AdmissionKey, Int)?) {
      var host = entry.take() ?? Host(key: AdmissionKey(origin), limit: limit)
      let oldLimit = host.limit
      ready -= host.ready
      full -= host.isFull ? 1 : 0
      let result = change(&host)
      host.limit = host.pace.isPaused(at: now) ? 0 : host.pace.limit(atMost: limit)
      let held = host.waiting + host.delayed
      host.isFull = held >= (host.isFull ? Self.mostHeld / 2 : Self.mostHeld)
      ready += host.ready
      full += host.isFull ? 1 : 0
      let isRemembered =
        !host.pace.isForgiven(at: now) || host.refusal.map { $0.until > now } ?? false
      var newLimit = limit
      if !host.isIdle || isRemembered && !isCrowded {
        newLimit = host.limit
        entry = host
      }
      return (result, newLimit == oldLimit ? nil : (host.key, newLimit))
    }
    // Looked up once, for this is done several times for every item.
    return update(&hosts[origin])
  }
}
