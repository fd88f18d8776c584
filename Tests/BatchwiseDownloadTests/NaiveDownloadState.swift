// SPDX-License-Identifier: Apache-2.0

@testable import BatchwiseDownload

/// What ``DownloadState`` shall do, written as plainly as possible and as slow as it likes.
struct NaiveDownloadState {
  struct Item: Equatable {
    var id: Int
    var item: PlannedItem
    var name: OutputPath?

    static func == (left: Item, right: Item) -> Bool { left.id == right.id }
  }

  let limit: Int
  var read = 0
  var waiting: [Item] = []
  var inFlight: [Item] = []
  var ended: Set<Int> = []
  var counts: [String: Int] = [:]
  var seen: Set<WebAddress> = []
  /// The paths that items have had; there are fewer items than are remembered.
  var claimed: Set<OutputPath> = []
  var events: [String] = []
  var peak = 0
  var bytes: Int64 = 0
  var isListRead = false
  var ending: DownloadReport.Ending?

  var isOver: Bool { inFlight.isEmpty && waiting.isEmpty && (isListRead || ending != nil) }

  var room: Int {
    if isListRead || ending != nil || events.count >= 4096 || waiting.count > 256 { return 0 }
    return 512 - waiting.count
  }

  mutating func add(_ items: [Result<PlannedItem, DownloadFailure>]) {
    if ending != nil { return }
    for item in items {
      read += 1
      switch item {
      case .failure: end(read, "failed")
      case .success(let item):
        if seen.insert(item.address).inserted {
          waiting.append(Item(id: read, item: item))
        } else {
          end(read, "skipped")
        }
      }
    }
  }

  mutating func stop(_ reason: DownloadReport.Ending) {
    if ending != nil || isOver { return }
    ending = reason
    waiting = []
  }

  /// The items to be started, by their numbers.
  mutating func admit() -> [Int] {
    var started: [Int] = []
    while inFlight.count < limit, events.count < 4096, !waiting.isEmpty {
      var item = waiting.removeFirst()
      let wishes = [item.item.path, item.item.path.alternative(for: item.item.address)]
      item.name = wishes.first { !claimed.contains($0) }
      guard let name = item.name else {
        end(item.id, "failed")
        continue
      }
      claimed.insert(name)
      inFlight.append(item)
      peak = max(peak, inFlight.count)
      events.append("\(item.id) started")
      started.append(item.id)
    }
    return started
  }

  mutating func finished(_ id: Int, _ outcome: DownloadState.Outcome) {
    switch outcome {
    case .done(let file):
      bytes += file.bytes
      end(id, "done")
    case .unchanged: end(id, "skipped")
    case .left: break
    case .failed(let failure):
      if failure.remedy == .moreRoom { stop(.diskFull) }
      end(id, "failed")
    }
    inFlight.removeAll { $0.id == id }
  }

  private mutating func end(_ id: Int, _ word: String) {
    precondition(ended.insert(id).inserted, "The item \(id) has ended twice")
    counts[word, default: 0] += 1
    events.append("\(id) \(word)")
  }
}
