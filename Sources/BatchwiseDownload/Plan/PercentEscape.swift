// SPDX-License-Identifier: Apache-2.0

extension Substring.UTF8View {
  /// The byte that a percent escape at the start stands for, or nil if none is there.
  var leadingEscape: UInt8? {
    var rest = self
    guard rest.popFirst() == UInt8(ascii: "%"), let high = rest.popFirst()?.hexValue,
      let low = rest.popFirst()?.hexValue
    else { return nil }
    return high << 4 | low
  }
}

extension UInt8 {
  /// The value of a hexadecimal digit of ASCII, in either case.
  var hexValue: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
