// SPDX-License-Identifier: Apache-2.0

import CZlib

extension Canvas {
  /// The sheet as a PNG file: eight bits a part, no transparency, no metadata.
  func png() -> [UInt8] {
    var header: [UInt8] = bigEndian(UInt32(width)) + bigEndian(UInt32(height))
    header += [8, 2, 0, 0, 0]  // bits a part, true colour, and the only methods there are

    let signature: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
    return signature + chunk("IHDR", header) + chunk("IDAT", deflated(filteredRows()))
      + chunk("IEND", [])
  }

  /// Every row after the number of its filter: 1, each byte less the same part one pixel earlier.
  ///
  /// Skies and hills change slowly from left to right, so most differences are small or zero and
  /// compress well.
  private func filteredRows() -> [UInt8] {
    var rows: [UInt8] = []
    rows.reserveCapacity(height * (1 + 3 * width))
    for row in 0..<height {
      rows.append(1)
      var earlier: (UInt8, UInt8, UInt8) = (0, 0, 0)
      for colour in pixels[row * width..<(row + 1) * width] {
        let bytes = colour.bytes
        rows.append(bytes.0 &- earlier.0)
        rows.append(bytes.1 &- earlier.1)
        rows.append(bytes.2 &- earlier.2)
        earlier = bytes
      }
    }
    return rows
  }
}

extension Colour {
  /// The three parts as bytes.
  fileprivate var bytes: (UInt8, UInt8, UInt8) {
    (UInt8(red * 255 + 0.5), UInt8(green * 255 + 0.5), UInt8(blue * 255 + 0.5))
  }
}

/// One piece of a PNG file: length, kind, content, and a checksum over the last two.
private func chunk(_ kind: String, _ content: [UInt8]) -> [UInt8] {
  let checked = Array(kind.utf8) + content
  let checksum = UInt32(truncatingIfNeeded: crc32(0, checked, uInt(checked.count)))
  return bigEndian(UInt32(content.count)) + checked + bigEndian(checksum)
}

private func deflated(_ bytes: [UInt8]) -> [UInt8] {
  let bound = compressBound(uLong(bytes.count))
  return [UInt8](unsafeUninitializedCapacity: Int(bound)) { buffer, count in
    var length = bound
    let result = compress2(
      buffer.baseAddress, &length, bytes, uLong(bytes.count), Z_DEFAULT_COMPRESSION)
    // The buffer is as large as zlib asks for, so only a lack of memory is left.
    precondition(result == Z_OK, "zlib could not compress a picture: \(result)")
    count = Int(length)
  }
}

private func bigEndian(_ number: UInt32) -> [UInt8] {
  [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
}
