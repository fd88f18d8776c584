// SPDX-License-Identifier: Apache-2.0

/// A safe name for a file: one path component that the file systems of Linux and Apple take.
///
/// Pure, and the same on every run: it depends on the address alone.
struct FileName: Sendable, Hashable, CustomStringConvertible {
  /// The name.
  private(set) var description: String

  /// The longest name that Linux and Apple file systems take, in bytes of UTF-8.
  static let longest = 255

  /// The name that an address wishes for: the last segment of its path, decoded and made safe.
  ///
  /// An address whose path names no file gets the name `index`.
  init(for address: WebAddress) {
    let segment = address.lastPathSegment
    if Self.isPlain(segment) {
      description = String(segment)
      return
    }
    var name = Self.decoded(segment)
    // The normal form takes square time for a long row of accents, and makes a name no shorter than a
    // third: four times the longest stays too long for one.
    name = Self.safe(Self.cut(name, to: 4 * Self.longest).canonical)
    if name.isEmpty { name = "index" }
    if Self.isDevice(name.utf8) { name = "_" + name }
    if name.utf8.count > Self.longest {
      name = Self.marked(name, for: address)
    }
    self.description = name
  }

  /// The name that an address wishes for, by one of the ways to name files.
  ///
  /// The number is the item's in the list, for names that are made of it.
  init(for address: WebAddress, _ naming: Naming, number: Int) {
    self.init(for: address)
    let stem: String
    switch naming {
    case .url: return
    case .hash:
      var hash = StableHash<UInt128>()
      hash.add(address.redacted)
      stem = StableHash.digits(hash.value)
    case .index:
      let digits = String(number)
      stem = String(repeating: "0", count: max(0, 8 - digits.count)) + digits
    }
    description = stem + Self.split(description).ending
  }

  /// A component of a path, which is safe already.
  init(component: String) { description = component }

  /// The name to use when this one is taken: the same with a mark before its extension.
  ///
  /// The same address gets the same name on every run.
  func alternative(for address: WebAddress) -> FileName {
    FileName(component: Self.marked(description, for: address))
  }

  // MARK: - The rules

  /// Puts a mark before the extension, and shortens what stands before it as far as needed.
  private static func marked(_ name: String, for address: WebAddress) -> String {
    cut(name, to: longest, with: "-" + mark(of: name, for: address))
  }

  /// The name with the mark before its extension, and what stands before both cut off as far as needed.
  private static func cut(_ name: String, to length: Int, with mark: String = "") -> String {
    if mark.isEmpty, name.utf8.count <= length { return name }
    let (stem, ending) = split(name)
    let room = length - mark.utf8.count - ending.utf8.count
    // Whole scalars, not characters: one character may be longer than any name.
    var kept = stem.unicodeScalars.prefix(room)
    while Substring(kept).utf8.count > room { kept.removeLast() }
    return String(kept) + mark + ending
  }

  /// Whether the segment can be the name as it is, as most can.
  private static func isPlain(_ segment: Substring) -> Bool {
    let bytes = segment.utf8
    guard let first = bytes.first, isAlphanumeric(first), bytes.count <= longest,
      bytes.last != UInt8(ascii: "."), !isDevice(bytes)
    else { return false }
    return bytes.allSatisfy {
      isAlphanumeric($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-")
        || $0 == UInt8(ascii: "_")
    }
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }

  /// Percent-decoded once, or left as it is where that gives no text.
  private static func decoded(_ segment: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = segment.utf8
    while let byte = rest.first {
      let escape = rest.leadingEscape
      bytes.append(escape ?? byte)
      rest.removeFirst(escape == nil ? 1 : 3)
    }
    return String(validating: bytes, as: UTF8.self) ?? String(segment)
  }

  /// Replaces what a file system, a shell or a terminal could take for more than a name.
  private static func safe(_ text: String) -> String {
    var scalars = text.unicodeScalars.map { scalar -> Unicode.Scalar in
      scalar == "/" || scalar == "\\" || scalar.isMisleading ? "_" : scalar
    }[...]
    while let last = scalars.last, last == "." || last.properties.isWhitespace {
      scalars.removeLast()
    }
    scalars = scalars.drop(while: \.properties.isWhitespace)
    // A hidden file, or an option to a later command, is not what the list asked for.
    if let first = scalars.first, first == "." || first == "-" {
      scalars[scalars.startIndex] = "_"
    }
    var name = String.UnicodeScalarView()
    name.append(contentsOf: scalars)
    return String(name)
  }

  /// Whether a name is a device on Windows, whatever its extension is and wherever it lies.
  private static func isDevice(_ name: some Collection<UInt8>) -> Bool {
    // Nearly every name is told from a device by its first letter or its length.
    guard let first = name.first, "CPANLcpanl".utf8.contains(first) else { return false }
    let stem = name.prefix { $0 != UInt8(ascii: ".") }
    guard (3...9).contains(stem.count) else { return false }
    var text = String(decoding: stem, as: UTF8.self).uppercased()
    while text.utf8.last == 0x20 { text.removeLast() }
    return devices.contains(text)
  }

  private static let devices: Set<String> = Set(
    ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"]
      + ["COM", "LPT"].flatMap { port in "0123456789¹²³".map { "\(port)\($0)" } })

  /// The name before its extension, and the extension with its dot; `.tar.gz` and its like stay whole.
  private static func split(_ name: String) -> (stem: Substring, ending: Substring) {
    guard let ending = lastExtension(of: name[...]) else { return (name[...], "") }
    let stem = name[..<ending]
    if let inner = lastExtension(of: stem), stem[inner...].lowercased() == ".tar" {
      return (name[..<inner], name[inner...])
    }
    return (stem, name[ending...])
  }

  /// Where the extension begins, if there is one.
  ///
  /// By bytes, because finding the borders of characters can take very long.
  private static func lastExtension(of name: Substring) -> Substring.Index? {
    let bytes = name.utf8
    guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")), dot > bytes.startIndex else {
      return nil
    }
    let letters = bytes[dot...].dropFirst()
    return (1...10).contains(letters.count) && letters.allSatisfy(isAlphanumeric) ? dot : nil
  }

  /// Twelve hexadecimal digits derived from the name that is too long or taken, and from the address
  /// without user name and password.
  ///
  /// FNV-1a of 64 bits, folded to 48: among a million addresses that wish for one name, two marks
  /// agree once in five hundred runs, and then one item fails and no file is harmed.
  private static func mark(of name: String, for address: WebAddress) -> String {
    var hash = StableHash<UInt64>()
    hash.add(name)
    hash.add(address.redacted)
    let folded = (hash.value ^ (hash.value >> 48)) & 0xffff_ffff_ffff
    return StableHash.digits(folded, count: 12)
  }
}
