// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Which pictures are to be read next.
struct PictureWishes {
  /// Rows in the order in which they were wished for.
  private var order: [Int] = []
  private var first = 0
  /// Of each row, whether somebody has asked for it, and not only its file has arrived.
  private var isAsked: [Int: Bool] = [:]
  /// Whether some are being read.
  var areRead = false

  /// A picture to be read.
  struct Wish: Sendable {
    let row: Int
    let isAsked: Bool
  }

  /// Wishes for a row's picture.
  mutating func add(_ row: Int, isAsked: Bool) {
    if self.isAsked[row] == nil { order.append(row) }
    self.isAsked[row] = isAsked || self.isAsked[row] == true
  }

  /// Takes out the next wishes.
  mutating func take(upTo count: Int) -> [Wish] {
    let next = order[first...].prefix(count)
    first += next.count
    defer {
      if first == order.count || first > 4096 {
        order.removeFirst(first)
        first = 0
      }
    }
    return next.map { Wish(row: $0, isAsked: isAsked.removeValue(forKey: $0) ?? false) }
  }
}

extension DownloadBatch {
  /// How many pictures are read at once, before they are shown, and how many bytes of them end that.
  private nonisolated static let most = (pictures: 32, bytes: 1 << 20)

  private struct Picture: Sendable {
    let wish: PictureWishes.Wish
    let file: String
    let bound: Int
  }

  /// Asks for the picture of a row that is being looked at.
  ///
  /// Pictures come by themselves as their files arrive, as long as there is room for them. One that is asked
  /// for comes in any case, and those are dropped for it that were asked for longest ago. Asking for what is
  /// there, or has no picture, costs next to nothing. Files are read off the main actor, in the order
  /// in which they were asked for; the row's ``Row/thumbnail`` changes when it is there.
  ///
  /// - Complexity: O(1), besides reading the file.
  public func loadThumbnail(of row: Row) {
    if row.thumbnail != nil { return shelf.touch(row.id) }
    guard row.file != nil, shelf.capacity > 0 else { return }
    pictures.add(row.id, isAsked: true)
    readPictures()
  }

  /// Asks for the pictures of rows whose files have arrived, as far as there is room.
  func loadThumbnails(ofArrived changed: [DownloadRow]) {
    guard shelf.room > 0 else { return }
    for row in changed where row.file != nil {
      if case .done(let file) = row.state, file.bytes > shelf.room { continue }
      pictures.add(row.id, isAsked: false)
    }
    readPictures()
  }

  /// Reads the next pictures in a task that ends with them, and goes on as long as some are wished for.
  ///
  /// Nobody waits for the task. It holds this object weakly, and so many bytes at most as may be read at once.
  private func readPictures() {
    guard !pictures.areRead else { return }
    let wishes = pictures.take(upTo: Self.most.pictures)
    guard !wishes.isEmpty else { return }
    let next = wishes.compactMap { wish in
      rows[wish.row].file.map { file in
        Picture(wish: wish, file: file, bound: wish.isAsked ? shelf.capacity : shelf.room)
      }
    }
    pictures.areRead = true
    Task { @concurrent [weak self, folder] in
      var rest = next[...]
      repeat {
        let read = Self.read(&rest, in: folder)
        await self?.place(read)
      } while !rest.isEmpty && self != nil
      await self?.goOn()
    }
  }

  /// Reads pictures until they come to enough bytes to be shown.
  private nonisolated static func read(
    _ rest: inout ArraySlice<Picture>, in folder: OutputFolder
  ) -> [(PictureWishes.Wish, Data)] {
    var read: [(PictureWishes.Wish, Data)] = []
    var bytes = 0
    while bytes < most.bytes, let picture = rest.popFirst() {
      guard let data = folder.savedPicture(picture.file, atMost: picture.bound) else { continue }
      bytes += data.count
      read.append((picture.wish, data))
    }
    return read
  }

  private func place(_ read: [(PictureWishes.Wish, Data)]) {
    for (wish, data) in read where wish.isAsked || data.count <= shelf.room {
      for dropped in shelf.place(wish.row, bytes: data.count) { rows[dropped].thumbnail = nil }
      rows[wish.row].thumbnail = data
    }
  }

  private func goOn() {
    pictures.areRead = false
    readPictures()
  }
}
