// SPDX-License-Identifier: Apache-2.0

/// The few characters that heads are made of.
package enum Ascii {
  /// A part of a line.
  package typealias Bytes = Slice<UnsafeRawBufferPointer>

  package static let newline = UInt8(ascii: "\n")
  package static let carriageReturn = UInt8(ascii: "\r")
  package static let space = UInt8(ascii: " ")
  package static let colon = UInt8(ascii: ":")
  package static let comma = UInt8(ascii: ",")
  package static let slash = UInt8(ascii: "/")

  package static func lowercased(_ byte: UInt8) -> UInt8 {
    UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
  }

  package static func isBlank(_ byte: UInt8) -> Bool {
    byte == space || byte == UInt8(ascii: "\t") || byte == carriageReturn || byte == newline
  }

  package static func trimmed(_ bytes: Bytes) -> Bytes {
    var start = bytes.startIndex
    var end = bytes.endIndex
    let base = bytes.base
    while start < end, isBlank(base[start]) { start += 1 }
    while start < end, isBlank(base[end - 1]) { end -= 1 }
    return base[start..<end]
  }

  package static func isDigit(_ byte: UInt8) -> Bool {
    UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
  }

  /// Whether there is nothing but letters, digits, signs and spaces.
  package static func isPrintable(_ bytes: Bytes) -> Bool {
    for byte in UnsafeRawBufferPointer(rebasing: bytes) where byte < 0x20 || byte > 0x7e {
      return false
    }
    return true
  }

  /// The number that the digits write, or nothing if they are none, too many, or no digits.
  package static func number(_ digits: Bytes) -> Int64? {
    if digits.isEmpty { return nil }
    var number: Int64 = 0
    for digit in digits {
      guard isDigit(digit) else { return nil }
      let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
      let (sum, carry) = tens.addingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
      if overflow || carry { return nil }
      number = sum
    }
    return number
  }

  /// Whether the bytes are these, in either case; the word is given in lower case.
  package static func isEqual(_ bytes: Bytes, _ word: StaticString) -> Bool {
    guard bytes.count == word.utf8CodeUnitCount else { return false }
    var index = bytes.startIndex
    for offset in 0..<word.utf8CodeUnitCount {
      guard lowercased(bytes.base[index]) == word.utf8Start[offset] else { return false }
      index += 1
    }
    return true
  }
}
