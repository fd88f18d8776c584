// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

/// Memory for the texts of one row, used again for every row, so that SQLite can refer to them where
/// they lie instead of copying each to memory of its own.
struct TextBuffer: ~Copyable {
  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 1024, alignment: 1)
  private var count = 0

  deinit { memory.deallocate() }

  /// Forgets what was added; nothing may refer to it any more.
  mutating func removeAll() { count = 0 }

  /// Makes room for so many bytes, while nothing has been added.
  mutating func reserve(_ room: Int) {
    guard room > memory.count else { return }
    memory.deallocate()
    memory = .allocate(byteCount: room * 2, alignment: 1)
  }

  mutating func add(_ text: String) -> UnsafeRawBufferPointer {
    let length = text.utf8.count
    let place = take(length)
    var text = text
    text.withUTF8 { place.copyMemory(from: UnsafeRawBufferPointer($0)) }
    return UnsafeRawBufferPointer(place)
  }

  mutating func add(_ digest: Checksum) -> UnsafeRawBufferPointer {
    let place = take(digest.algorithm.length)
    var digits = digest.hex.utf8.makeIterator()
    for index in place.indices {
      let high = digits.next()?.hexDigit ?? 0
      let low = digits.next()?.hexDigit ?? 0
      place[index] = high << 4 | low
    }
    return UnsafeRawBufferPointer(place)
  }

  mutating func add(_ number: Int128) -> UnsafeRawBufferPointer {
    let place = take(16)
    withUnsafeBytes(of: number.bigEndian) { place.copyMemory(from: $0) }
    return UnsafeRawBufferPointer(place)
  }

  private mutating func take(_ length: Int) -> UnsafeMutableRawBufferPointer {
    precondition(count + length <= memory.count, "The row is longer than was said")
    defer { count += length }
    return UnsafeMutableRawBufferPointer(rebasing: memory[count..<count + length])
  }
}

extension UInt8 {
  /// What the byte is worth as a hexadecimal digit in lower case.
  fileprivate var hexDigit: UInt8 {
    self >= UInt8(ascii: "a") ? self - UInt8(ascii: "a") + 10 : self - UInt8(ascii: "0")
  }
}
