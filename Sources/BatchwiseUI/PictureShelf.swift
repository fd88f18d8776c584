// SPDX-License-Identifier: Apache-2.0

/// Whose pictures are in memory, within a bound of bytes; those go first that were asked for longest ago.
struct PictureShelf {
  /// The most bytes of all pictures together.
  let capacity: Int
  /// The bytes of all pictures that are there.
  private(set) var used = 0
  private var places: [Int: (bytes: Int, stamp: Int)] = [:]
  /// Rows in the order in which they were asked for, oldest first; only a row's latest stamp counts.
  private var order: [(row: Int, stamp: Int)] = []
  private var oldest = 0
  private var lastStamp = 0

  init(capacity: Int) { self.capacity = capacity }

  /// How many bytes can be placed without dropping anything.
  var room: Int { capacity - used }

  /// Takes note that a picture was asked for that is there.
  mutating func touch(_ row: Int) {
    guard places[row] != nil else { return }
    lastStamp += 1
    places[row]?.stamp = lastStamp
    order.append((row, lastStamp))
    tidy()
  }

  /// Places a picture that fits into the whole, and returns the rows whose pictures are dropped for it.
  ///
  /// - Complexity: O(1) for each picture placed, asked for and dropped, in the long run.
  mutating func place(_ row: Int, bytes: Int) -> [Int] {
    precondition(bytes <= capacity, "\(bytes) bytes will never fit into \(capacity)")
    if let old = places.removeValue(forKey: row) { used -= old.bytes }
    var dropped: [Int] = []
    while room < bytes, oldest < order.count {
      let (row, stamp) = order[oldest]
      oldest += 1
      guard let place = places[row], place.stamp == stamp else { continue }
      places[row] = nil
      used -= place.bytes
      dropped.append(row)
    }
    used += bytes
    places[row] = (bytes, lastStamp)
    touch(row)
    return dropped
  }

  /// Forgets what counts no more, once that is most of it.
  private mutating func tidy() {
    guard order.count > 64, order.count > 2 * places.count else { return }
    order = order[oldest...].filter { places[$0.row]?.stamp == $0.stamp }
    oldest = 0
  }
}
