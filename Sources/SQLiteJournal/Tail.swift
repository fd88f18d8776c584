// SPDX-License-Identifier: Apache-2.0

/// Where the latest records are that `place` does not know yet.
///
/// Two generations: the records since the last fold began, and those that are being folded just now.
/// A value that knows nothing of files; its size is bounded by how often it is folded.
struct Tail {
  /// So many records make a fold worth while.
  private let mostRecords: Int

  private var recent: [Int64: Int64] = [:]
  private var folding: [Int64: Int64] = [:]
  /// Records of this generation that a later one of the same generation has made void.
  private var void: [Int64] = []
  private var recordsOfGeneration = 0

  /// The highest record there is, 0 if there is none.
  private(set) var lastID: Int64 = 0

  /// Whether a fold is under way.
  private(set) var isFolding = false

  /// Whether there are so many records that a fold should begin.
  var isLong: Bool { recordsOfGeneration >= mostRecords && !isFolding }

  init(lastID: Int64, mostRecords: Int) {
    self.lastID = lastID
    self.mostRecords = mostRecords
  }

  /// The latest record of the item, if it is here.
  func id(of key: Int64) -> Int64? { recent[key] ?? folding[key] }

  /// A record was appended; its number is higher than all before.
  mutating func add(key: Int64, id: Int64) {
    if let earlier = recent.updateValue(id, forKey: key) { void.append(earlier) }
    lastID = id
    recordsOfGeneration += 1
  }

  /// Begins to fold all there is: what is added from now on is left to the next fold.
  mutating func beginFold() -> Fold {
    precondition(!isFolding, "One fold at a time")
    isFolding = true
    swap(&folding, &recent)
    defer {
      void = []
      recordsOfGeneration = 0
    }
    return Fold(upTo: lastID, void: void)
  }

  /// Whether the record is the one of its item that is being folded.
  func isFolded(key: Int64, id: Int64) -> Bool { folding[key] == id }

  /// The fold has come to its end.
  mutating func endFold() {
    isFolding = false
    folding.removeAll(keepingCapacity: true)
  }
}

/// A fold that is under way: what is left to be entered into `place`.
struct Fold {
  /// The last record that it concerns.
  let upTo: Int64
  /// Records that no item needs any more.
  let void: [Int64]
  /// What is still to be entered, in the order of the keys.
  var rest: ArraySlice<Entry> = []

  /// One item's latest record.
  struct Entry {
    var key: Int64
    var id: Int64
    /// The length of its file, or nil if it is not done.
    var bytes: Int64?
  }
}

/// How often is folded, and how much at once.
struct FoldPace {
  /// So many records are remembered before they are folded.
  var records = 32_768
  /// So many are folded in one transaction, so that it stays small in memory and on the disk.
  var step = 1_024
}
