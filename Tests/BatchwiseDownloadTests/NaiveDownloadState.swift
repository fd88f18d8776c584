// SPDX-License-Identifier: Apache-2.0

@testable import BatchwiseDownload

/// What a run shall do about starts, endings and counts, written as plainly as possible.
///
/// It knows nothing of names, retries and pauses.
struct NaiveDownloadState {
  struct Item {
    var id: Int
    var host: String
  }

  let limit: Int
  let limitPerHost: Int
  var read = 0
  var waiting: [Item] = []
  var inFlight: [Item] = []
  var settling: [Item] = []
  var ended: Set<Int> = []
  var counts: [String: Int] = [:]
  var seen: Set<WebAddress> = []
  var events: [String] = []
  /// Files that wait for their names and other news that the sink has not taken.
  var news = 0
  var peak = 0
  var isListRead = false
  var ending: DownloadReport.Ending?

  var isOver: Bool {
    inFlight.isEmpty && waiting.isEmpty && settling.isEmpty && (isListRead || ending != nil)
  }

  mutating func add(_ items: [Result<PlannedItem, DownloadFailure>]) {
    if ending != nil { return }
    for item in items {
      read += 1
      switch item {
      case .failure: end(read, "failed")
      case .success(let item):
        if seen.insert(item.address).inserted {
          waiting.append(Item(id: read, host: item.address.origin))
        } else {
          end(read, "skipped")
        }
      }
    }
  }

  mutating func stop(_ reason: DownloadReport.Ending) {
    if ending != nil || isOver { return }
    ending = reason
    news += waiting.count
    counts["left", default: 0] += waiting.count
    waiting = []
  }

  /// The items to be started, by their numbers.
  mutating func admit() -> [Int] {
    var started: [Int] = []
    while inFlight.count < limit, news < DownloadState.newsWindow, settling.count < 512,
      let index = waiting.firstIndex(where: { item in
        inFlight.count { $0.host == item.host } < limitPerHost
      })
    {
      let item = waiting.remove(at: index)
      inFlight.append(item)
      peak = max(peak, inFlight.count)
      note("\(item.id) started")
      started.append(item.id)
    }
    return started
  }

  mutating func ended(_ id: Int, _ outcome: DownloadState.Outcome) {
    let item = inFlight.first { $0.id == id }
    inFlight.removeAll { $0.id == id }
    switch outcome {
    case .whole:
      settling += item.map { [$0] } ?? []
      news += 1
    case .notModified: end(id, "skipped")
    case .left:
      counts["left", default: 0] += 1
      news += 1
    case .failed(let failure, _):
      if failure.remedy == .moreRoom {
        counts["left", default: 0] += 1
        news += 1
        inFlight += item.map { [$0] } ?? []
        stop(.diskFull)
        inFlight.removeAll { $0.id == id }
      } else {
        end(id, "failed")
      }
    case .redirected: break
    }
  }

  mutating func settled(_ id: Int) {
    settling.removeAll { $0.id == id }
    counts["done", default: 0] += 1
  }

  private mutating func end(_ id: Int, _ word: String) {
    precondition(ended.insert(id).inserted, "The item \(id) has ended twice")
    counts[word, default: 0] += 1
    note("\(id) \(word)")
  }

  private mutating func note(_ event: String) {
    events.append(event)
    news += 1
  }
}
