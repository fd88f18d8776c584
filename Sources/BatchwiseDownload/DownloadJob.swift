// SPDX-License-Identifier: Apache-2.0

internal import Batchwise

/// An item of the list that is to be fetched, with what has become of it so far.
struct DownloadJob: Sendable {
  /// Its number in this run, from 1.
  let id: Int
  let item: PlannedItem
  /// The path that it has claimed.
  let path: OutputPath
  /// What an earlier run brought for it, which what comes now may replace.
  var previous: StoredFile?
  /// Whether the server is asked for the file only if it is no longer the previous one.
  var isConditional = false
  /// Where a broken transfer of it can go on.
  var resume: ResumePoint?

  /// How many attempts have begun.
  var attempts = 0
  /// When the first attempt began, and the latest.
  var began: (first: Duration, latest: Duration)?
  /// Whether it has had the one more attempt that some failures are worth.
  var hadOneMore = false
  /// Its place in the order, which it keeps through all attempts.
  var arrival: AdmissionArrival?
  /// The way of the present attempt so far.
  var route = Route()
  /// Its place among those that wait, while it is one of them.
  var ticket: NumberedAdmission.Ticket?
  /// Whether nobody wants it any more.
  var isAbandoned = false
  /// Whether it pauses before another attempt.
  var isPausing = false
  /// What is granted to it while it is in flight.
  var grant: NumberedAdmission.Grant?

  /// The address to ask.
  var address: WebAddress { route.last ?? item.address }

  /// Whether its record says that the previous file is there and right, as far as is known: it could
  /// not be asked about, and nothing has come in its place.
  var isRecordedAsDone: Bool { isConditional && resume == nil }

  /// What there is of it.
  var remains: DownloadNews.Remains {
    DownloadNews.Remains(item: item, path: path, resume: resume, previous: previous)
  }

  init(_ id: Int, _ item: PlannedItem, path: OutputPath) {
    self.id = id
    self.item = item
    self.path = path
  }
}

/// The way of one attempt through redirects, from an item's own address on.
struct Route: Sendable, Equatable {
  /// The most redirects that are followed.
  static let mostRedirects = 10

  /// Where redirects have led so far.
  private(set) var redirects: [WebAddress] = []
  /// Whether the item's own origin has not been left, so that what is a secret may be sent.
  private(set) var isAtHome = true

  /// Where the last redirect has led.
  var last: WebAddress? { redirects.last }

  /// Goes on to where a redirect leads, or says why it may not be followed.
  ///
  /// What the item's own origin was left for does not become a secret's way home: where another
  /// origin leads back, it might choose what is asked there in the item's name.
  mutating func follow(
    _ target: String, from home: WebAddress, status: Int
  ) throws(DownloadFailure) -> WebAddress {
    func refusal(_ message: String) -> DownloadFailure {
      DownloadFailure(.redirect, status: status, message)
    }
    let last = self.last ?? home
    guard let next = (try? WebAddress(target))?.redirected(from: last) else {
      throw refusal("A redirect leads to no http or https address")
    }
    if last.scheme == "https", next.scheme == "http" {
      throw refusal("A redirect leads from https to http")
    }
    if next == home || redirects.contains(next) {
      throw refusal("The redirects lead round in a circle")
    }
    guard redirects.count < Self.mostRedirects else {
      throw refusal("More than \(Self.mostRedirects) redirects")
    }
    isAtHome = isAtHome && next.origin == last.origin
    redirects.append(next)
    return next
  }
}
