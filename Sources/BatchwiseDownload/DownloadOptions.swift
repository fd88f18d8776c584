// SPDX-License-Identifier: Apache-2.0

public import Batchwise

/// How a run goes about its list.
public struct DownloadOptions: Sendable {
  /// The most items in flight at once, at least 1.
  public var limit = 8

  /// Whether the limit is found out: it then begins with 8 and stays below ``limit``.
  ///
  /// It rises by one for each round of good answers while it is used, and falls when servers refuse
  /// because it is too much or do not answer in time.
  public var findsLimit = false

  /// The most items in flight at once to one host, which is a scheme, name and port; at least 1.
  public var limitPerHost = 6

  /// How many attempts may be started in a length of time; nil for as many as there is room for.
  public var rate: RateLimit?

  /// How many further attempts an item gets after the first, for what may be better the next time.
  public var retries = 4

  /// How long an item pauses before another attempt; it is not in flight meanwhile.
  public var backoff = Backoff.exponential(from: .milliseconds(500), cap: .seconds(60))

  /// The longest pause that a host may ask for; an item whose host asks for a longer one fails.
  public var longestPause = Duration.seconds(3600)

  /// How long a transfer waits for what.
  public var timeouts = TransferTimeouts()

  /// Which files are wanted, by their size and kind.
  public var filter = FileFilter()

  /// How files are named for which the list gives no name.
  public var naming = Naming.url

  /// What happens when two items want one name, or something else has it already.
  public var collisions = CollisionPolicy.suffix

  /// What is sent with every request to an item's own origin.
  ///
  /// Where a redirect leads to another origin, only `Accept`, `Accept-Language` and `User-Agent`
  /// go along; what else there is may be a secret.
  public var headers: [HeaderField] = []

  /// Whether names and passwords of the user's `.netrc` file are sent to an item's own origin.
  public var usesNetrc = false

  /// What to do about items that an earlier run has recorded.
  public var recorded = Recorded()

  /// What to do about items that an earlier run has recorded.
  public struct Recorded: Sendable, Hashable {
    /// Asks the server again about what is done, and fetches it if it has changed.
    public var refreshesDone = false
    /// Tries again what has failed for good.
    public var retriesFailed = false

    /// Leaves what is done, and counts what has failed as failed again.
    public init() {}
  }

  /// Options for a careful run that anybody's server can bear.
  public init() {}

  /// When and how often a failed attempt is repeated.
  var retryPolicy: RetryPolicy {
    RetryPolicy(attempts: retries + 1, backoff: backoff) { error in
      switch (error as? DownloadFailure)?.remedy {
      case .anotherAttempt, .oneMoreAttempt, .fewerAtOnce, .leavingHostAlone: .retry
      case .moreRoom, .some(.none), nil: .stop
      }
    }
  }
}
