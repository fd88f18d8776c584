// SPDX-License-Identifier: Apache-2.0

/// Instants as heads write them (RFC 9110, section 5.6.7), in seconds since 1970.
enum HTTPDate {
  /// Reads a date in any of its three forms; nothing if it is none.
  ///
  /// The one form that servers write today stands in every answer twice, so it is read without
  /// looking for where its words end.
  static func seconds(_ bytes: Ascii.Bytes) -> Int64? {
    if bytes.count == fixedLength, let seconds = fixedForm(bytes) { return seconds }
    return bytes.count > 64 ? nil : otherForm(bytes)
  }

  private static let fixedLength = 29

  /// `Sun, 06 Nov 1994 08:49:37 GMT`; no other form has its length.
  private static func fixedForm(_ bytes: Ascii.Bytes) -> Int64? {
    let text = UnsafeRawBufferPointer(rebasing: bytes)
    func two(_ offset: Int) -> Int? {
      guard Ascii.isDigit(text[offset]), Ascii.isDigit(text[offset + 1]) else { return nil }
      return Int(text[offset] - 48) * 10 + Int(text[offset + 1] - 48)
    }
    guard text[3] == Ascii.comma, text[4] == Ascii.space, text[7] == Ascii.space,
      text[11] == Ascii.space, text[16] == Ascii.space, text[19] == Ascii.colon,
      text[22] == Ascii.colon, text[25] == Ascii.space, text[26] == UInt8(ascii: "G"),
      text[27] == UInt8(ascii: "M"), text[28] == UInt8(ascii: "T"),
      let day = two(5), 1...31 ~= day, let month = month(text[8], text[9], text[10]),
      let century = two(12), let year = two(14), century * 100 + year >= 1970,
      let hour = two(17), hour < 24, let minute = two(20), minute < 60,
      let second = two(23), second <= 60
    else { return nil }
    let days = days(of: century * 100 + year, month, day)
    return Int64(days) * 86_400 + Int64(hour * 3600 + minute * 60 + second)
  }

  /// `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`: a day and then a year, with a
  /// month and a time in any place among them.
  private static func otherForm(_ bytes: Ascii.Bytes) -> Int64? {
    var day: Int64?
    var year: Int64?
    var month: Int?
    var time: Int64?
    for word in bytes.split(whereSeparator: { " ,-\t".utf8.contains($0) }) {
      if let number = Ascii.number(word) {
        guard year == nil, word.count <= 4 else { return nil }
        if day == nil { day = number } else { year = number }
      } else if word.contains(Ascii.colon) {
        guard time == nil, let seconds = secondsOfDay(word) else { return nil }
        time = seconds
      } else if month == nil, word.count == 3,
        let number = self.month(word[word.startIndex], word[word.startIndex + 1], word.last ?? 0)
      {
        month = number
      } else if day != nil && month != nil {
        // What comes after the date is a zone, and only one is allowed.
        guard Ascii.isEqual(word, "gmt") else { return nil }
      }
    }
    guard let day, 1...31 ~= day, let month, let time, var year else { return nil }
    if year < 100 { year += year < 70 ? 2000 : 1900 }
    guard year >= 1970 else { return nil }
    return Int64(days(of: Int(year), month, Int(day))) * 86_400 + time
  }

  private static func secondsOfDay(_ word: Ascii.Bytes) -> Int64? {
    let parts = word.split(separator: Ascii.colon, omittingEmptySubsequences: false)
    guard parts.count == 3, let hour = Ascii.number(parts[0]), hour < 24,
      let minute = Ascii.number(parts[1]), minute < 60,
      let second = Ascii.number(parts[2]), second <= 60
    else { return nil }
    return hour * 3600 + minute * 60 + second
  }

  private static func month(_ first: UInt8, _ second: UInt8, _ third: UInt8) -> Int? {
    let name = UInt32(first) << 16 | UInt32(second) << 8 | UInt32(third)
    switch name {
    case 0x4a_616e: return 1
    case 0x46_6562: return 2
    case 0x4d_6172: return 3
    case 0x41_7072: return 4
    case 0x4d_6179: return 5
    case 0x4a_756e: return 6
    case 0x4a_756c: return 7
    case 0x41_7567: return 8
    case 0x53_6570: return 9
    case 0x4f_6374: return 10
    case 0x4e_6f76: return 11
    case 0x44_6563: return 12
    default: return nil
    }
  }

  /// The days from the first one of 1970; a year begins in March here, so that its odd day is last.
  private static func days(of year: Int, _ month: Int, _ day: Int) -> Int {
    let isEarly = month <= 2
    let year = isEarly ? year - 1 : year
    let dayOfYear = (153 * (isEarly ? month + 9 : month - 3) + 2) / 5 + day - 1
    return year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
  }
}
