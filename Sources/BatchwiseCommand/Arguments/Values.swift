// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

/// A number of things at once, from an option's argument, of which more may have been typed.
func positiveNumber(
  _ text: String, of option: String, as typed: String? = nil
) throws(Refusal) -> Int {
  guard let number = Int(text), (1...1_000_000).contains(number) else {
    throw Refusal(.usage, of: option, typed ?? text, "give a whole number from 1 to 1000000")
  }
  return number
}

/// A number of repetitions, from an option's argument.
func count(_ text: String, of option: String) throws(Refusal) -> Int {
  guard let number = Int(text), (0...1_000_000).contains(number) else {
    throw Refusal(.usage, of: option, text, "give a whole number from 0 to 1000000")
  }
  return number
}

/// The path of a folder or a file, from an option's argument.
func path(_ text: String, of option: String) throws(Refusal) -> String {
  guard !text.isEmpty else {
    throw Refusal(.usage, of: option, text, "give a path; this one is empty")
  }
  return text
}

/// One of the words that an option takes.
func word<Value: RawRepresentable & CaseIterable>(
  _ text: String, of option: String
) throws(Refusal) -> Value where Value.RawValue == String {
  guard let value = Value(rawValue: text) else {
    let words = Value.allCases.map(\.rawValue)
    let last = words.last ?? ""
    throw Refusal(
      .usage, of: option, text, "give \(words.dropLast().joined(separator: ", ")) or \(last)")
  }
  return value
}

/// A length of time: a number of seconds, or with a unit, such as `10`, `1.5s`, `500ms` or `2m`.
func duration(_ text: String, of option: String) throws(Refusal) -> Duration {
  let units: [(String, Double)] = [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)]
  let unit = units.first { text.hasSuffix($0.0) }
  let number = Double(decimal: text.dropLast(unit?.0.count ?? 0))
  guard let number, case let seconds = number * (unit?.1 ?? 1), (0.001...315_360_000) ~= seconds
  else {
    throw Refusal(.usage, of: option, text, "give a time such as 10, 10s, 500ms, 2m or 1h")
  }
  return .seconds(seconds)
}

/// A number of bytes, perhaps with a unit that is a power of 1024, such as `500k`, `20M` or `1.5G`.
func byteCount(
  _ text: String, of option: String, as typed: String? = nil, atLeast least: Int64 = 0
) throws(Refusal) -> Int64 {
  let units: [Character: Double] = [
    "k": 0x400, "K": 0x400, "m": 0x10_0000, "M": 0x10_0000, "g": 0x4000_0000, "G": 0x4000_0000,
    "t": 0x100_0000_0000, "T": 0x100_0000_0000,
  ]
  let unit = text.last.flatMap { units[$0] }
  let number = unit == nil ? Int64(text).map(Double.init) : Double(decimal: text.dropLast())
  guard let number, case let bytes = number * (unit ?? 1),
    let whole = Int64(exactly: bytes.rounded()), whole >= least, whole < 1 << 53
  else {
    let lower = least > 0 ? ", at least \(least)" : ""
    throw Refusal(
      .usage, of: option, typed ?? text, "give a number of bytes such as 5000, 500k or 20M\(lower)")
  }
  return whole
}

/// What comes before `/s`, which may be left out.
func perSecond(_ text: String) -> String { text.hasSuffix("/s") ? String(text.dropLast(2)) : text }

extension Double {
  /// A plain decimal number: no sign, no exponent, no name of a number.
  init?(decimal text: Substring) {
    guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) || $0 == 46 }) else {
      return nil
    }
    self.init(text)
  }
}
