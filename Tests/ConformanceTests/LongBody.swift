// SPDX-License-Identifier: Apache-2.0

/// So many bytes, in which no part looks like another.
///
/// Made by copying and not one by one, for that would take most of a test's time in a debug build.
func longBody(_ count: Int) -> [UInt8] {
  var bytes = (0..<251).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
  bytes.reserveCapacity(2 * count + 251)
  while bytes.count < count { bytes += bytes }
  bytes.removeLast(bytes.count - count)
  for (number, place) in stride(from: 0, to: count - 3, by: 2048).enumerated() {
    bytes[place] = UInt8(truncatingIfNeeded: number)
    bytes[place + 1] = UInt8(truncatingIfNeeded: number >> 8)
  }
  return bytes
}
