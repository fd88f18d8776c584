// SPDX-License-Identifier: Apache-2.0

/// A hash that is the same on every run and every machine, for names and what is compared with them
/// (FNV-1a).
///
/// Not for secrets, nor against somebody who looks for two texts with one hash.
struct StableHash<Value: FixedWidthInteger & UnsignedInteger> {
  private(set) var value: Value
  private let prime: Value

  /// Takes in one byte.
  mutating func add(_ byte: UInt8) { value = (value ^ Value(byte)) &* prime }

  /// Takes in the bytes of a text.
  mutating func add(_ text: String) {
    for byte in text.utf8 { add(byte) }
  }

  /// The digits of a number, with zeros in front to make them as many as they can be.
  static func digits(_ value: Value, count: Int = Value.bitWidth / 4) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: count - digits.count) + digits
  }
}

extension StableHash<UInt64> {
  init() { (value, prime) = (0xcbf2_9ce4_8422_2325, 0x100_0000_01b3) }
}

extension StableHash<UInt128> {
  init() {
    value = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
    prime = 0x0000_0000_0100_0000_0000_0000_0000_013b
  }
}
