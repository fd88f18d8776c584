// SPDX-License-Identifier: Apache-2.0

/// What two paths have in common that may be one file: equal but for the case of letters and for how
/// accents are written.
///
/// Some file systems tell such paths apart and others do not, so they count as one everywhere, and a
/// list gets the same names everywhere. A hash of 64 bits: of two paths that are one by chance, one
/// gets its alternative name, and that is all.
struct CollisionKey: Sendable, Hashable {
  private let hash: UInt64

  /// The key of a path, or of a part of one.
  init(_ text: String) {
    var hash = StableHash<UInt64>()
    if text.utf8.allSatisfy({ $0 < 0x80 }) {
      for byte in text.utf8 {
        let isCapital = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
        hash.add(isCapital ? byte | 0x20 : byte)
      }
    } else {
      // Thrice, so that letters which differ in one case alone, such as ß and ẞ, or σ and ς, agree.
      let folded = text.canonical.lowercased().uppercased().lowercased()
      folded._withNFCCodeUnits { hash.add($0) }
    }
    self.hash = hash.value
  }
}

extension String {
  /// The text in Unicode's normal form C, in which a letter and its accent are one scalar where they
  /// can be.
  ///
  /// By the function that the standard library compares texts with: Foundation's own is not among its
  /// essentials.
  var canonical: String {
    if unicodeScalars.allSatisfy({ $0.value < 0x300 }) { return self }
    return String(decoding: _nfcCodeUnits, as: UTF8.self)
  }
}
