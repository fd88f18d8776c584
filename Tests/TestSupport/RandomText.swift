// SPDX-License-Identifier: Apache-2.0

public import BatchwiseTesting

extension SeededGenerator {
  /// A text of at most `count` of the pieces, in any order.
  public mutating func text(of pieces: [String], upTo count: Int) -> String {
    (0..<Int.random(in: 0...count, using: &self)).map { _ in
      pieces.randomElement(using: &self) ?? ""
    }.joined()
  }

  /// So many bytes, of which no two parts are alike.
  public mutating func bytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count + 8) { buffer, filled in
      let raw = UnsafeMutableRawBufferPointer(buffer)
      for offset in stride(from: 0, to: count, by: 8) {
        raw.storeBytes(of: next(), toByteOffset: offset, as: UInt64.self)
      }
      filled = count
    }
  }
}
